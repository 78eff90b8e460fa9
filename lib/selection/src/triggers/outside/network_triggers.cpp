// SPDX-License-Identifier: Apache-2.0
#include "triggers/outside/network_triggers.hpp"

#include <utility>

#include "triggers/trigger_time.hpp"

namespace weir::selection {

using delivery::RecordTaken;
using wire::RefuseReason;

delivery::RecordFate NetworkTriggers::take(const wire::InputTrigger& trigger, bool last) {
    const std::scoped_lock lock(mutex_);
    if (room_ == 0) {
        if (!last) return {RecordTaken::full};
        ++counts_.received;
        ++counts_.stopping;
        return {RecordTaken::refused, RefuseReason::stopping};
    }
    ++counts_.received;
    switch (order_.judge(trigger.level1_id)) {
        case TriggerOrder::Verdict::good: break;
        case TriggerOrder::Verdict::doubled: return {RecordTaken::refused, RefuseReason::duplicate};
        case TriggerOrder::Verdict::out_of_order: return {RecordTaken::refused, RefuseReason::out_of_order};
        case TriggerOrder::Verdict::too_far_ahead: return {RecordTaken::refused, RefuseReason::too_far_ahead};
    }
    --room_;
    ++counts_.taken;
    wire::EventTicket ticket;
    ticket.level1_id = trigger.level1_id;
    ticket.bunch_crossing_id = trigger.bunch_crossing_id;
    ticket.trigger_type = trigger.type;
    ticket.level1_words = trigger.words;
    set_time(ticket, WallTime(std::chrono::nanoseconds(trigger.time_ns)));
    fresh_.push_back(std::move(ticket));
    return {RecordTaken::yes};
}

void NetworkTriggers::malformed() {
    const std::scoped_lock lock(mutex_);
    ++counts_.received;
    ++counts_.malformed;
}

void NetworkTriggers::start_run(SteadyTime) {
    const std::scoped_lock lock(mutex_);
    order_.start_run(first_);
    counts_ = {};
    room_ = 0;
    fresh_.clear();
    taken_.clear();
    more_ = false;
}

void NetworkTriggers::collect(SteadyTime, std::size_t room) {
    more_ = false;
    if (room == 0) return;
    {
        const std::scoped_lock lock(mutex_);
        room_ = room;
    }
    static_cast<void>(resume_());
    const std::scoped_lock lock(mutex_);
    more_ = room_ == 0;
    room_ = 0;
    for (auto& ticket : fresh_) taken_.push_back(std::move(ticket));
    fresh_.clear();
    order_.report_to(report_);
}

std::vector<SkippedIds> NetworkTriggers::take_skipped() {
    const std::scoped_lock lock(mutex_);
    return order_.take_skipped();
}

wire::EventTicket NetworkTriggers::take(SteadyTime) {
    auto ticket = std::move(taken_.front());
    taken_.pop_front();
    return ticket;
}

TriggerCounts NetworkTriggers::counts() const {
    const std::scoped_lock lock(mutex_);
    auto counts = counts_;
    order_.add_to(counts);
    counts.in_hand = taken_.size() + fresh_.size();
    return counts;
}

service::StationEvents NetworkTriggers::faults() const {
    const std::scoped_lock lock(mutex_);
    return order_.faults();
}

}  // namespace weir::selection
