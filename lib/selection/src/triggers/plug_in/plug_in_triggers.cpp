// SPDX-License-Identifier: Apache-2.0
#include "triggers/plug_in/plug_in_triggers.hpp"

#include <algorithm>
#include <utility>

#include "triggers/trigger_time.hpp"

namespace weir::selection {

std::size_t PlugInTriggers::room() const {
    const std::scoped_lock lock(mutex_);
    return state_ == State::runs ? waiting_max - std::min(waiting_.size(), waiting_max) : 0;
}

bool PlugInTriggers::add(const wire::InputTrigger& trigger) {
    const std::scoped_lock lock(mutex_);
    static_cast<void>(next_.take(trigger.level1_id));
    if (state_ != State::runs) {
        ++received_;
        ++stopping_;
        return false;
    }
    waiting_.push_back(trigger);
    return waiting_.size() == 1;
}

std::size_t PlugInTriggers::waiting() const {
    const std::scoped_lock lock(mutex_);
    return waiting_.size();
}

Level1Id PlugInTriggers::next_id() const {
    const std::scoped_lock lock(mutex_);
    return state_ == State::runs ? next_.id() : first_;
}

void PlugInTriggers::start_run(SteadyTime) {
    order_.start_run(first_);
    taken_.clear();
    tickets_ = 0;
    more_ = false;
    {
        const std::scoped_lock lock(mutex_);
        state_ = State::runs;
        waiting_.clear();
        next_ = NextTrigger(first_);
        received_ = stopping_ = 0;
    }
    if (on_room_) on_room_();
}

void PlugInTriggers::end_input() {
    tickets_ -= taken_.size();
    const std::scoped_lock lock(mutex_);
    state_ = State::over;
    received_ += waiting_.size();
    stopping_ += taken_.size() + waiting_.size();
    taken_.clear();
    waiting_.clear();
}

void PlugInTriggers::collect(SteadyTime, std::size_t room) {
    more_ = false;
    if (room == 0) return;
    bool was_full = false;
    std::deque<wire::InputTrigger> fresh;
    {
        const std::scoped_lock lock(mutex_);
        was_full = waiting_.size() > waiting_max / 2;
        while (!waiting_.empty() && fresh.size() < room) {
            fresh.push_back(std::move(waiting_.front()));
            waiting_.pop_front();
        }
        more_ = !waiting_.empty();
        received_ += fresh.size();
    }
    for (auto& trigger : fresh) {
        if (order_.judge(trigger.level1_id) != TriggerOrder::Verdict::good) continue;
        ++tickets_;
        wire::EventTicket ticket;
        ticket.level1_id = trigger.level1_id;
        ticket.bunch_crossing_id = trigger.bunch_crossing_id;
        ticket.trigger_type = trigger.type;
        ticket.level1_words = std::move(trigger.words);
        set_time(ticket, WallTime(std::chrono::nanoseconds(trigger.time_ns)));
        taken_.push_back(std::move(ticket));
    }
    order_.report_to(report_);
    if (was_full && on_room_) on_room_();
}

wire::EventTicket PlugInTriggers::take(SteadyTime) {
    auto ticket = std::move(taken_.front());
    taken_.pop_front();
    return ticket;
}

TriggerCounts PlugInTriggers::counts() const {
    TriggerCounts counts;
    order_.add_to(counts);
    counts.taken = tickets_;
    const std::scoped_lock lock(mutex_);
    counts.received = received_;
    counts.stopping = stopping_;
    counts.in_hand = taken_.size();
    return counts;
}

}  // namespace weir::selection
