// SPDX-License-Identifier: Apache-2.0
// What became of the triggers of a run before they were tickets. received = taken + refused, by reason, + in hand.
#pragma once

#include <cstdint>

#include "weir/base/ids.hpp"

namespace weir::selection {

struct TriggerCounts {
    std::uint64_t received = 0;
    std::uint64_t taken = 0;      // each is a ticket
    std::uint64_t dead_time = 0;  // not received: software triggers whose time came when there was no room for them
    std::uint64_t in_hand = 0;
    // Refused.
    std::uint64_t doubled = 0, out_of_order = 0, too_far_ahead = 0, malformed = 0;
    std::uint64_t stopping = 0;  // the run ended before there was room

    std::uint64_t lost = 0;  // not received: level-1 ids that never came
};

/// Level-1 ids that follow each other, over the wrap.
struct SkippedIds {
    Level1Id first{};
    std::uint32_t count = 0;

    bool operator==(const SkippedIds&) const = default;
};

}  // namespace weir::selection
