// SPDX-License-Identifier: Apache-2.0
// Time, passed in, so that a test can move it. Intervals, ages and deadlines use steady time; wall time
// only labels things for people and files (it may jump).
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "weir/base/result.hpp"

namespace weir {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

/// Both calls may be made from any thread.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual SteadyTime now() const noexcept = 0;
    [[nodiscard]] virtual WallTime wall() const noexcept = 0;
};

class SystemClock final : public Clock {
public:
    [[nodiscard]] SteadyTime now() const noexcept override { return std::chrono::steady_clock::now(); }
    [[nodiscard]] WallTime wall() const noexcept override { return std::chrono::system_clock::now(); }
};

/// For tests: stands still until advance() is called.
class ManualClock final : public Clock {
public:
    [[nodiscard]] SteadyTime now() const noexcept override {
        return SteadyTime{std::chrono::nanoseconds{passed_.load(std::memory_order_acquire)}};
    }
    [[nodiscard]] WallTime wall() const noexcept override {
        return WallTime{std::chrono::seconds{1'700'000'000}} +
               std::chrono::duration_cast<WallTime::duration>(
                   std::chrono::nanoseconds{passed_.load(std::memory_order_acquire)});
    }
    void advance(std::chrono::nanoseconds by) noexcept { passed_.fetch_add(by.count(), std::memory_order_acq_rel); }

private:
    std::atomic<std::int64_t> passed_{0};
};

/// Reads "250ms", "10s", "5min", "2h", "30d" (also "us"). Error: Errc::usage, names the units.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The exact duration in the largest unit that keeps it whole: "250ms", "10s".
[[nodiscard]] std::string to_string(std::chrono::nanoseconds duration);

}  // namespace weir
