// SPDX-License-Identifier: Apache-2.0
// The interface for authors of regions of interest: a function that names the sources that level 2 looks at first, from
// what level 1 knows of an event. Compiled into a shared library, it is loaded by `weir supervise` (regions =
// "NAME.so"):
//
//     #include <weir/selection/regions.hpp>
//     static void regions(const weir::selection::Level1Trigger& trigger, std::vector<weir::SourceId>& sources) {
//         if (trigger.level1_words[0] & 1) sources = {weir::SourceId{0x420000}, weir::SourceId{0x420001}};
//     }
//     WEIR_REGIONS(regions)
//
// The supervisor calls it in its own thread, for each event that it gives to a processing unit: it must not wait. Their
// fragments are there when the selection begins; it requests the others itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/ids.hpp"

namespace weir::selection {

/// Valid during the call only.
struct Level1Trigger {
    Level1Id level1_id{};
    std::uint32_t trigger_type = 0;
    std::uint32_t bunch_crossing_id = 0;
    std::span<const std::uint32_t> level1_words{};
};

/// No source: the selection begins without a fragment. After an exception the event gets all fragments.
using RegionsFunction = void(const Level1Trigger& trigger, std::vector<SourceId>& sources);

/// The description of a library: one that was built against another layout is refused when it is loaded.
struct RegionsFace {
    static constexpr std::uint32_t current = 1;
    std::uint32_t version = current;
    std::uint32_t trigger_size = sizeof(Level1Trigger);
    RegionsFunction* regions = nullptr;
};

}  // namespace weir::selection

/// Once in a shared library: `function` names its regions of interest.
#define WEIR_REGIONS(function)                                                                         \
    extern "C" __attribute__((visibility("default"))) const weir::selection::RegionsFace weir_regions; \
    const weir::selection::RegionsFace weir_regions{.regions = &(function)};
