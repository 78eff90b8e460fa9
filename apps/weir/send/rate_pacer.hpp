// SPDX-License-Identifier: Apache-2.0
// A steady rate over all threads that share it: each event has its moment, one period after the one
// before. Who comes late may catch up a little (threads do not wake exactly), but a pause of the
// receiver is not followed by a burst.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "weir/base/clock.hpp"

namespace weir::app {

class RatePacer {
public:
    /// 0: no limit. What may be caught up is at least one event.
    explicit RatePacer(double per_second, std::chrono::nanoseconds catch_up = std::chrono::milliseconds{100}) noexcept
        : period_ns_(per_second > 0 ? std::max<std::int64_t>(static_cast<std::int64_t>(1e9 / per_second), 1) : 0),
          catch_up_ns_(std::max<std::int64_t>(catch_up.count(), period_ns_)) {}

    /// Zero: go ahead, and the moment is taken. Otherwise: nothing is taken, call again after that time. Any thread.
    [[nodiscard]] std::chrono::nanoseconds try_take(SteadyTime now) noexcept {
        if (period_ns_ == 0) return {};
        const std::int64_t now_ns = now.time_since_epoch().count();
        // Relaxed: the moment is all that the threads share.
        auto next = next_ns_.load(std::memory_order_relaxed);
        while (true) {
            if (next == unset) {
                if (next_ns_.compare_exchange_weak(next, now_ns + period_ns_, std::memory_order_relaxed)) return {};
                continue;
            }
            if (now_ns < next) return std::chrono::nanoseconds{next - now_ns};
            const auto after = std::max(next, now_ns - catch_up_ns_) + period_ns_;
            if (next_ns_.compare_exchange_weak(next, after, std::memory_order_relaxed)) return {};
        }
    }

private:
    static constexpr std::int64_t unset = INT64_MIN;
    const std::int64_t period_ns_;
    const std::int64_t catch_up_ns_;
    std::atomic<std::int64_t> next_ns_{unset};
};

}  // namespace weir::app
