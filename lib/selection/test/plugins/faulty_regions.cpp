// SPDX-License-Identifier: Apache-2.0
// Regions of interest that are the level-1 words themselves; one of them is a fault.
#include <stdexcept>

#include "weir/selection/regions.hpp"

namespace {

void regions(const weir::selection::Level1Trigger& trigger, std::vector<weir::SourceId>& sources) {
    for (const auto word : trigger.level1_words) {
        if (word == 13) throw std::runtime_error("no such sector");
        sources.push_back(weir::SourceId{word});
    }
}

}  // namespace

WEIR_REGIONS(regions)
