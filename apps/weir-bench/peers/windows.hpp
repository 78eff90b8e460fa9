// SPDX-License-Identifier: Apache-2.0
// When threads ran beside each other. A batch of several threads is a measurement of them together only where their
// time windows overlap: with a neighbour on the machine one of them may run first and the other after it, and what
// fights over a cache line then looks as if it scaled. So batches below `overlap_min` do not count.
//
// C++17 and nothing but the standard library, like its neighbours in this folder: peers are built with them as they
// are.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace weir::jobs {

/// One batch of one thread, in seconds of a steady clock.
struct Window {
    double begin = 0, end = 0;
};

constexpr double overlap_min = 0.9;

[[nodiscard]] constexpr double in_seconds(double seconds) { return seconds; }
template <class Count, class Unit>
[[nodiscard]] constexpr double in_seconds(std::chrono::duration<Count, Unit> time) {
    return std::chrono::duration<double>(time).count();
}

// The following take any range of windows, of a clock's times too, and allocate nothing.

/// From the first begin to the last end; there is one at least.
template <class Windows = std::vector<Window>>
[[nodiscard]] auto whole_of(const Windows& windows) {
    auto whole = *windows.begin();
    for (const auto& window : windows) {
        whole.begin = std::min(whole.begin, window.begin);
        whole.end = std::max(whole.end, window.end);
    }
    return whole;
}

/// The seconds of that; 0 without a window.
template <class Windows = std::vector<Window>>
[[nodiscard]] double span_of(const Windows& windows) {
    if (windows.empty()) return 0;
    const auto whole = whole_of(windows);
    return in_seconds(whole.end - whole.begin);
}

/// The part of that time in which all ran: 1 for one thread, 0 for threads that ran one after another.
template <class Windows = std::vector<Window>>
[[nodiscard]] double overlap_of(const Windows& windows) {
    const double span = span_of(windows);
    if (windows.empty() || !(span > 0)) return 0;
    auto common = *windows.begin();
    for (const auto& window : windows) {
        common.begin = std::max(common.begin, window.begin);
        common.end = std::min(common.end, window.end);
    }
    return std::max(0.0, in_seconds(common.end - common.begin)) / span;
}

/// What the batches of one visit gave: seconds of one operation of one thread.
struct Figures {
    double best = 0, median = 0;         // of the batches that count; 0 when none does
    std::size_t counted = 0, taken = 0;  // batches
};

/// `windows[batch][thread]`, of `times` operations in each.
[[nodiscard]] inline Figures figures_of(const std::vector<std::vector<Window>>& windows, std::size_t times) {
    std::vector<double> seconds;
    for (const auto& batch : windows)
        if (overlap_of(batch) >= overlap_min) seconds.push_back(span_of(batch) / static_cast<double>(times));
    Figures figures;
    figures.taken = windows.size();
    figures.counted = seconds.size();
    if (seconds.empty()) return figures;
    std::sort(seconds.begin(), seconds.end());
    figures.best = seconds.front();
    figures.median = seconds[seconds.size() / 2];
    return figures;
}

}  // namespace weir::jobs
