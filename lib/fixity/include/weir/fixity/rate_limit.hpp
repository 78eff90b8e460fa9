// SPDX-License-Identifier: Apache-2.0
// A bandwidth that all readers share: a reader waits until its bytes are due.
#pragma once

#include <chrono>
#include <mutex>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"

namespace weir::fixity {

class RateLimit {
public:
    RateLimit(const Clock& clock, Bytes per_second)
        : clock_(clock), per_second_(static_cast<double>(per_second.count())) {}

    /// Takes `bytes` of the budget and returns how long to wait before they may be read. A pause is not
    /// followed by a burst. Any thread.
    [[nodiscard]] std::chrono::nanoseconds take(std::uint64_t bytes) {
        const auto now = clock_.now();
        const std::scoped_lock lock(mutex_);
        const auto begin = next_ > now ? next_ : now;
        next_ =
            begin + std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * static_cast<double>(bytes) / per_second_));
        return begin - now;
    }

private:
    const Clock& clock_;
    const double per_second_;
    std::mutex mutex_;
    SteadyTime next_{};
};

}  // namespace weir::fixity
