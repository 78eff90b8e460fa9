// SPDX-License-Identifier: Apache-2.0
// Regions of interest from the words of level 1: each bit of word 0 names a sector, and a sector has two sources in
// each of two detectors. Their fragments are there when the selection begins.
//
//     g++ -std=c++23 -O2 -fPIC -shared trigger_regions.cpp $(pkg-config --cflags --libs weir-selection) -o
//     trigger_regions.so [supervise.l2sv] regions = "trigger_regions.so"
#include <cstdint>
#include <vector>

#include "weir/selection/regions.hpp"

namespace {

constexpr std::uint32_t chamber = 0xa10000, calorimeter = 0xa30000, sectors = 4;

void regions(const weir::selection::Level1Trigger& trigger, std::vector<weir::SourceId>& sources) {
    if (trigger.level1_words.empty()) return;
    for (std::uint32_t sector = 0; sector < sectors; ++sector) {
        if ((trigger.level1_words[0] >> sector & 1) == 0) continue;
        for (const auto detector : {chamber, calorimeter}) {
            sources.push_back(weir::SourceId{detector + 2 * sector});
            sources.push_back(weir::SourceId{detector + 2 * sector + 1});
        }
    }
}

}  // namespace

WEIR_REGIONS(regions)
