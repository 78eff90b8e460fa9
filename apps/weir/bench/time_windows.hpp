// SPDX-License-Identifier: Apache-2.0
// Did threads really run side by side? When a neighbour takes a core away, threads that should be in each other's way
// run one after the other, and look as if they scaled (a false 2.00 was measured like that). So a batch of several
// threads counts only if their time windows overlap.
#pragma once

#include <algorithm>
#include <span>

#include "weir/base/clock.hpp"

namespace weir::app {

struct TimeWindow {
    SteadyTime begin, end;
};

inline constexpr double overlap_that_counts = 0.9;

/// From the first begin to the last end.
[[nodiscard]] inline TimeWindow all_of(std::span<const TimeWindow> windows) noexcept {
    auto whole = windows.front();
    for (const auto& window : windows) {
        whole.begin = std::min(whole.begin, window.begin);
        whole.end = std::max(whole.end, window.end);
    }
    return whole;
}

/// The part of that time in which all of them ran: 0 to 1.
[[nodiscard]] inline double overlap_of(std::span<const TimeWindow> windows) noexcept {
    if (windows.empty()) return 0;
    const auto whole = all_of(windows);
    auto common = windows.front();
    for (const auto& window : windows) {
        common.begin = std::max(common.begin, window.begin);
        common.end = std::min(common.end, window.end);
    }
    if (common.end <= common.begin) return 0;
    return std::chrono::duration<double>(common.end - common.begin) / (whole.end - whole.begin);
}

}  // namespace weir::app
