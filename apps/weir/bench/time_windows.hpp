// SPDX-License-Identifier: Apache-2.0
// The rule of peers/windows.hpp (batches of several threads count only where their time windows overlap) for times of
// our own clock.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "peers/windows.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {

struct TimeWindow {
    SteadyTime begin, end;
};

inline constexpr double overlap_that_counts = jobs::overlap_min;

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
[[nodiscard]] inline double overlap_of(std::span<const TimeWindow> windows) {
    std::vector<jobs::Window> seconds;
    for (const auto& window : windows) {
        const auto since = [&](SteadyTime time) { return std::chrono::duration<double>(time - windows.front().begin).count(); };
        seconds.push_back({since(window.begin), since(window.end)});
    }
    return jobs::overlap_of(seconds);
}

}  // namespace weir::app
