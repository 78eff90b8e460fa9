// SPDX-License-Identifier: Apache-2.0
#include "notify/notify_queue.hpp"

#include <algorithm>
#include <utility>

namespace weir::control {
namespace {

constexpr std::chrono::minutes notify_window{1};

bool is_alarm_event(const NotifyMessage& message) {
    return message.event == NotifyEvent::alarm || message.event == NotifyEvent::acknowledged;
}

}  // namespace

void NotifyQueue::add(NotifyMessage message) {
    if (waiting_.size() >= size_max_) {
        auto oldest = std::ranges::find_if(waiting_, is_alarm_event);
        if (oldest == waiting_.end()) oldest = waiting_.begin();
        waiting_.erase(oldest);
        ++dropped_;
    }
    waiting_.push_back(std::move(message));
}

NotifyQueue::Times& NotifyQueue::taken(NotifyEvent event, SteadyTime now) {
    auto& times = taken_.at(static_cast<std::size_t>(event));
    while (!times.empty() && now - times.front() >= notify_window) times.pop_front();
    return times;
}

std::optional<NotifyMessage> NotifyQueue::take(SteadyTime now, bool all) {
    const auto first = std::ranges::find_if(
        waiting_, [&](const NotifyMessage& message) { return all || taken(message.event, now).size() < per_minute_; });
    if (first == waiting_.end()) return std::nullopt;
    auto message = std::move(*first);
    waiting_.erase(first);
    auto& times = taken(message.event, now);
    if (all || times.size() + 1 == per_minute_) {
        std::deque<NotifyMessage> others;
        for (auto& other : waiting_) {
            if (other.event != message.event) {
                others.push_back(std::move(other));
                continue;
            }
            // Of alarms the first often is the cause; of runs the last one counts.
            if (!is_alarm_event(message)) std::swap(message, other);
            sum_up(message, other);
            ++summed_up_;
        }
        waiting_ = std::move(others);
    }
    times.push_back(now);
    return message;
}

std::optional<SteadyTime> NotifyQueue::next(SteadyTime now) {
    std::optional<SteadyTime> soonest;
    for (const auto& message : waiting_) {
        const auto& times = taken(message.event, now);
        const auto due = times.size() < per_minute_ ? now : times.front() + notify_window;
        if (!soonest || due < *soonest) soonest = due;
    }
    return soonest;
}

}  // namespace weir::control
