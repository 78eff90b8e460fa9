// SPDX-License-Identifier: Apache-2.0
#include "triggers/outside/first_triggers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "triggers/trigger_time.hpp"

namespace weir::selection {

FirstTriggers::FirstTriggers(SourceId source, Level1Id first, Reporter report, const Clock& clock)
    : source_(source),
      first_(first),
      report_(std::move(report)),
      clock_(clock),
      order_(fmt::format("source 0x{:06x}", number(source))) {
    order_.start_run(first);
}

void FirstTriggers::start_run(SteadyTime) {
    restarted();
    waiting_.clear();
    newest_ = 0;
    taken_.clear();
    next_at_.reset();
    room_since_.reset();
    ended_ = false;
    order_.start_run(first_);
    counts_ = {};
}

void FirstTriggers::end_input() {
    ended_ = true;
    counts_.taken -= taken_.size();
    counts_.stopping += taken_.size() + waiting_.size();
    taken_.clear();
    waiting_.clear();
}

void FirstTriggers::restarted() noexcept {
    next_number_ = 0;
    overtook_.clear();
}

bool FirstTriggers::seen(const wire::FragmentSeen& message, SteadyTime now) {
    if (message.source != source_ || message.fragments.empty() || message.first < next_number_ ||
        waiting_.size() + overtook_.size() >= waiting_max)
        return false;
    overtook_.emplace(message.first, message.fragments);
    while (!overtook_.empty() && overtook_.begin()->first == next_number_) {
        const auto fragments = std::move(overtook_.begin()->second);
        overtook_.erase(overtook_.begin());
        next_number_ += fragments.size();
        take_in(fragments, now);
    }
    return true;
}

void FirstTriggers::take_in(const std::vector<wire::SeenFragment>& fragments, SteadyTime now) {
    counts_.received += fragments.size();
    if (ended_) {
        counts_.stopping += fragments.size();
        return;
    }
    for (const auto& fragment : fragments) {
        wire::EventTicket ticket;
        ticket.level1_id = fragment.level1_id;
        set_time(ticket, fragment.time_ns ? WallTime(std::chrono::nanoseconds(*fragment.time_ns)) : clock_.wall());
        // Ids lie within 2^31 of the newest.
        const auto step = static_cast<std::int32_t>(number(fragment.level1_id) - number(first_) -
                                                    static_cast<std::uint32_t>(newest_));
        const auto place = newest_ + step;
        newest_ = std::max(newest_, place);
        waiting_.emplace(place, Waiting{std::move(ticket), now});
    }
}

void FirstTriggers::collect(SteadyTime now, std::size_t room) {
    next_at_.reset();
    const bool some = room > 0;
    if (!some) room_since_.reset();
    else if (!room_since_) room_since_ = now;
    while (room > 0 && !waiting_.empty()) {
        auto& [ticket, since] = waiting_.begin()->second;
        const auto ahead = wire::level1_distance(ticket.level1_id, order_.next());
        const auto lost_at = std::max(since, *room_since_) + missing_wait;
        if (ahead > 0 && now < lost_at && waiting_.size() < ahead_max) {
            next_at_ = lost_at;
            break;
        }
        if (order_.judge(ticket.level1_id) == TriggerOrder::Verdict::good) {
            ++counts_.taken;
            --room;
            taken_.push_back(std::move(ticket));
        }
        waiting_.erase(waiting_.begin());
    }
    if (some && room == 0 && !waiting_.empty()) next_at_ = now;  // the next step may have room for more
    order_.report_to(report_);
}

wire::EventTicket FirstTriggers::take(SteadyTime) {
    auto ticket = std::move(taken_.front());
    taken_.pop_front();
    return ticket;
}

TriggerCounts FirstTriggers::counts() const {
    auto counts = counts_;
    order_.add_to(counts);
    counts.in_hand = taken_.size() + waiting_.size();
    return counts;
}

}  // namespace weir::selection
