// SPDX-License-Identifier: Apache-2.0
// The messages that wait for a notifier. A flood of alarms must neither fill memory nor the phone of who is on call: of
// each event only so many messages go in a minute, and what comes more often is summed up in the last of them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "notify/notify_message.hpp"
#include "weir/base/clock.hpp"

namespace weir::control {

/// One thread, or under a lock.
class NotifyQueue {
public:
    explicit NotifyQueue(std::uint32_t per_minute, std::size_t size_max = 500)
        : per_minute_(per_minute), size_max_(size_max) {}

    /// When it is full the oldest alarm goes, else the oldest message: that is counted.
    void add(NotifyMessage message);
    /// The oldest that may go now. The last of its event that may go in this minute stands for all of that event that
    /// wait. `all`: limits count no more, and each event is one message.
    [[nodiscard]] std::optional<NotifyMessage> take(SteadyTime now, bool all = false);
    /// When there is one to take; nothing: none waits.
    [[nodiscard]] std::optional<SteadyTime> next(SteadyTime now);

    [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }
    [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }      // for want of room
    [[nodiscard]] std::uint64_t summed_up() const noexcept { return summed_up_; }  // in others

private:
    using Times = std::deque<SteadyTime>;
    [[nodiscard]] Times& taken(NotifyEvent event, SteadyTime now);  // within the last minute

    const std::uint32_t per_minute_;
    const std::size_t size_max_;
    std::deque<NotifyMessage> waiting_;
    std::array<Times, notify_events> taken_{};
    std::uint64_t dropped_ = 0, summed_up_ = 0;
};

}  // namespace weir::control
