// SPDX-License-Identifier: Apache-2.0
// How long something took, as counts in bins: what percentiles are made of over many processes and any time. A mean
// hides the one sync in a thousand that everybody waits for; a maximum never forgets it. Bins are the same everywhere,
// so that histograms of several parts add up.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace weir {

/// Upper ends of the bins but the last, which is open.
inline constexpr std::array duration_bounds_s{0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0};

/// What a histogram had at some moment.
struct Durations {
    std::array<std::uint64_t, duration_bounds_s.size() + 1> counts{};  // of each bin by itself
    double sum_s = 0;

    [[nodiscard]] std::uint64_t count() const noexcept;
    Durations& operator+=(const Durations& other) noexcept;
    bool operator==(const Durations&) const = default;
};

/// Any thread. All access is relaxed: the order against other memory does not matter, and what is read while another
/// thread adds may have the count and not yet the sum.
class DurationHistogram {
public:
    /// A time below zero, of a clock that went back, counts as zero.
    void add(std::chrono::nanoseconds took) noexcept;
    [[nodiscard]] Durations durations() const noexcept;

private:
    std::array<std::atomic<std::uint64_t>, duration_bounds_s.size() + 1> counts_{};
    std::atomic<std::uint64_t> sum_ns_{0};
};

}  // namespace weir
