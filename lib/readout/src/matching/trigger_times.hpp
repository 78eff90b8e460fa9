// SPDX-License-Identifier: Apache-2.0
// The times of the last triggers, in order, for finding the triggers near a time. Bounded: the oldest is forgotten.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "matching/clock_track.hpp"
#include "weir/base/ids.hpp"

namespace weir::readout {

class TriggerTimes {
public:
    struct Trigger {
        TriggerTime time{};
        Level1Id event{};
        std::uint64_t number = 0;  // how many came before it
    };
    using List = std::deque<Trigger>;

    explicit TriggerTimes(std::size_t triggers_max) : triggers_max_(std::max<std::size_t>(triggers_max, 1)) {}

    /// False: it is not later than the last one, and is not kept.
    [[nodiscard]] bool add(Level1Id event, TriggerTime time) {
        if (!list_.empty() && nanoseconds_between(time, list_.back().time) <= 0) return false;
        if (list_.size() == triggers_max_) list_.pop_front();
        list_.push_back({time, event, added_++});
        return true;
    }
    void clear() noexcept { list_.clear(); }

    /// The first that is not before `time`.
    [[nodiscard]] List::const_iterator from(TriggerTime time) const noexcept {
        return std::ranges::lower_bound(
            list_, time, [](TriggerTime a, TriggerTime b) { return nanoseconds_between(a, b) < 0; }, &Trigger::time);
    }
    [[nodiscard]] const List& list() const noexcept { return list_; }
    [[nodiscard]] std::uint64_t added() const noexcept { return added_; }
    /// A trigger later than `time` has come, so none before it is still to come.
    [[nodiscard]] bool beyond(TriggerTime time) const noexcept {
        return !list_.empty() && nanoseconds_between(list_.back().time, time) > 0;
    }

private:
    std::size_t triggers_max_;
    List list_;
    std::uint64_t added_ = 0;
};

}  // namespace weir::readout
