// SPDX-License-Identifier: Apache-2.0
#include "weir/base/duration_histogram.hpp"

#include <algorithm>
#include <numeric>

namespace weir {

std::uint64_t Durations::count() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Durations& Durations::operator+=(const Durations& other) noexcept {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    sum_s += other.sum_s;
    return *this;
}

void DurationHistogram::add(std::chrono::nanoseconds took) noexcept {
    took = std::max(took, std::chrono::nanoseconds{0});
    const auto seconds = std::chrono::duration<double>(took).count();
    const auto* bin = std::ranges::lower_bound(duration_bounds_s, seconds);
    counts_[static_cast<std::size_t>(bin - duration_bounds_s.begin())].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(static_cast<std::uint64_t>(took.count()), std::memory_order_relaxed);
}

Durations DurationHistogram::durations() const noexcept {
    Durations now;
    for (std::size_t i = 0; i < counts_.size(); ++i) now.counts[i] = counts_[i].load(std::memory_order_relaxed);
    now.sum_s = static_cast<double>(sum_ns_.load(std::memory_order_relaxed)) / 1e9;
    return now;
}

}  // namespace weir
