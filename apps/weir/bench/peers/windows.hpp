// SPDX-License-Identifier: Apache-2.0
// When threads ran beside each other. A batch of several threads says something about them together only where their
// time windows overlap: with a neighbour on the machine one of them may run first and the other after it, and what
// fights over a cache line then looks as if it scaled. So batches below `overlap_min` do not count.
//
// C++17 and nothing but the standard library, like its neighbours in this folder: peers are built with them as they
// are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weir::jobs {

/// One batch of one thread, in seconds of a steady clock.
struct Window {
    double begin = 0, end = 0;
};

constexpr double overlap_min = 0.9;

/// From the first begin to the last end.
[[nodiscard]] inline double span_of(const std::vector<Window>& windows) {
    if (windows.empty()) return 0;
    double first = windows.front().begin, last = windows.front().end;
    for (const auto& window : windows) {
        first = std::min(first, window.begin);
        last = std::max(last, window.end);
    }
    return last - first;
}

/// The part of that time in which all ran: 1 for one thread, 0 for threads that ran one after another.
[[nodiscard]] inline double overlap_of(const std::vector<Window>& windows) {
    const double span = span_of(windows);
    if (windows.empty() || !(span > 0)) return 0;
    double begin = windows.front().begin, end = windows.front().end;
    for (const auto& window : windows) {
        begin = std::max(begin, window.begin);
        end = std::min(end, window.end);
    }
    return std::max(0.0, end - begin) / span;
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
