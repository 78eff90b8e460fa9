// SPDX-License-Identifier: Apache-2.0
// How long to wait for an answer before one asks again: from measured round trips, after RFC 6298 (smoothed mean and
// deviation; a trip that was asked for twice is not measured).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weir::transport {

class RoundTrip {
public:
    using Time = std::chrono::nanoseconds;
    constexpr RoundTrip(Time least, Time most) noexcept : least_(least), most_(most) {}

    constexpr void measured(Time trip) noexcept {
        if (mean_ == Time{0}) {
            mean_ = trip;
            deviation_ = trip / 2;
        } else {
            const auto off = mean_ > trip ? mean_ - trip : trip - mean_;
            deviation_ += (off - deviation_) / 4;
            mean_ += (trip - mean_) / 8;
        }
        shortest_ = shortest_ == Time{0} ? trip : std::min(shortest_, trip);
    }

    /// Before the `tries`-th repetition (1: the first); doubles with each.
    [[nodiscard]] constexpr Time wait(unsigned tries = 1) const noexcept {
        const auto base = mean_ == Time{0} ? std::min(most_, std::max(least_, Time{std::chrono::milliseconds(50)}))
                                           : std::clamp(mean_ + 4 * deviation_, least_, most_);
        return std::min<Time>(most_, base * (std::int64_t{1} << std::min(tries - 1, 10U)));
    }
    [[nodiscard]] constexpr Time mean() const noexcept { return mean_; }
    [[nodiscard]] constexpr Time shortest() const noexcept { return shortest_; }

private:
    Time least_, most_, mean_{0}, deviation_{0}, shortest_{0};
};

}  // namespace weir::transport
