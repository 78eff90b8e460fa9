// SPDX-License-Identifier: Apache-2.0
// One event of those that pass by, for people to look at: a single slot in which the newest wins. The thread that
// offers never waits and copies rarely (once in `interval`), so that watching never pushes back; a reader gets the
// latest.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/service/event_tap.hpp"

namespace weir::service {

class SampledEvents {
public:
    explicit SampledEvents(std::chrono::milliseconds interval = std::chrono::milliseconds{200},
                           Bytes event_max = Bytes{64U << 20})
        : interval_(interval), event_max_(event_max) {}

    /// Whether an event would be taken now: to be asked before its pieces are put together. From any thread.
    [[nodiscard]] bool due(SteadyTime now) const noexcept {
        return now.time_since_epoch().count() >= next_.load(std::memory_order_relaxed);
    }

    /// From any thread, also from several at once. The pieces lie one behind the other in the event; they are read
    /// before the call returns. False: not taken (it was too soon, another thread was at it, it is too large).
    bool offer(std::span<const ConstData> pieces, SteadyTime now);
    bool offer(ConstData event, SteadyTime now) { return offer(std::span(&event, 1), now); }

    /// The latest; nullptr: none was offered.
    [[nodiscard]] std::shared_ptr<const std::vector<std::byte>> latest() const;
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

    /// Those that programs ask for one by one.
    [[nodiscard]] EventTap& tap() noexcept { return tap_; }

    /// A new run begins: an event of the last one does not belong to it.
    void clear();

private:
    const std::chrono::milliseconds interval_;
    const Bytes event_max_;
    std::atomic<SteadyTime::rep> next_{
        0};  // before this nothing is taken; relaxed: a moment more or less does not matter
    std::atomic<std::uint64_t> taken_{0};
    mutable std::mutex mutex_;  // held while a pointer is swapped; an offer that finds it taken is discarded
    std::atomic<bool> copying_{false};
    std::shared_ptr<const std::vector<std::byte>> latest_;  // shared with those that read it
    EventTap tap_;
};

}  // namespace weir::service
