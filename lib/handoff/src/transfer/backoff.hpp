// SPDX-License-Identifier: Apache-2.0
// How long to wait after a failure: twice as long after each, up to a limit, less a random part, so that the copies
// that wait for a server do not all begin at the same moment when it is back.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>
#include <random>

namespace weir::handoff {

class Backoff {
public:
    Backoff(std::chrono::milliseconds first, std::chrono::milliseconds most, std::uint64_t seed)
        : first_(first), most_(most), random_(seed) {}

    /// After `failures` (1 and more) in sequence: between a half of the full time and all of it. Any thread.
    [[nodiscard]] std::chrono::milliseconds after(std::uint32_t failures) {
        auto full = first_;
        for (std::uint32_t i = 1; i < failures && full < most_; ++i) full *= 2;
        full = std::min(full, most_);
        const std::scoped_lock lock(mutex_);
        return full / 2 +
               std::chrono::milliseconds(std::uniform_int_distribution<std::int64_t>(0, full.count() / 2)(random_));
    }

    [[nodiscard]] std::chrono::milliseconds most() const noexcept { return most_; }

private:
    const std::chrono::milliseconds first_, most_;
    std::mutex mutex_;
    std::mt19937_64 random_;
};

}  // namespace weir::handoff
