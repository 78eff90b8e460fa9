// SPDX-License-Identifier: Apache-2.0
// How a builder asks: readouts take turns, several events go into one request, what is on its way is bounded, and what does
// not come in time is asked for again.
#include <fmt/format.h>

#include <algorithm>

#include "weir/building/builder.hpp"

namespace weir::building {

using wire::DataflowType;

void Builder::queue(std::uint32_t readout) {
    auto& r = readouts_[readout];
    if (r.queued || r.outstanding >= options_.source_requests_max) return;
    r.queued = true;
    ready_.push_back(readout);
}

Builder::Slot* Builder::find(const Ask& ask, std::uint32_t readout) noexcept {
    auto& assembly = assemblies_[ask.assembly];
    if (!assembly.active || assembly.generation != ask.generation) return nullptr;
    return &assembly.slots[readout];
}

void Builder::ask(SteadyTime now) {
    while (!ready_.empty()) {
        const auto index = ready_.front();
        auto& readout = readouts_[index];
        if (!window_.room(readout.answer_size)) return;
        ready_.pop_front();
        readout.queued = false;
        if (ask_one(readout, index, now) > 0 && !readout.to_ask.empty()) queue(index);
    }
}

/// One request with as many events as fit; how many it asks for.
std::size_t Builder::ask_one(Readout& readout, std::uint32_t index, SteadyTime now) {
    request_.request = next_request_;
    request_.kind = wire::RequestKind::building;
    request_.events.clear();
    const auto most = std::min<std::size_t>(options_.request_events, wire::request_events_max);
    while (!readout.to_ask.empty() && request_.events.size() < most && readout.outstanding < options_.source_requests_max) {
        if (!request_.events.empty() && !window_.room(readout.answer_size)) break;
        auto next = readout.to_ask.front();
        readout.to_ask.pop_front();
        auto* slot = find(next, index);
        if (slot == nullptr || slot->state != SlotState::wanted) continue;
        slot->state = SlotState::asked;
        if (slot->tries < 255) ++slot->tries;
        slot->at = now;
        slot->request = next_request_;
        slot->booked = static_cast<std::uint32_t>(std::min<std::uint64_t>(readout.answer_size, 1U << 30));
        window_.asked(slot->booked);
        next.request = next_request_;
        next.ran = ran_;
        next.overtaken = 0;
        next.overtaker = 0;
        readout.asked.push_back(next);
        ++readout.outstanding;
        request_.events.push_back(assemblies_[next.assembly].ticket.level1_id);
    }
    if (request_.events.empty()) return 0;
    buffer_.clear();
    encode(request_, buffer_);
    outbox_.send(readout.id, DataflowType::data_request, buffer_);
    ++next_request_;
    ++counts_.requests;
    counts_.asked += request_.events.size();
    return request_.events.size();
}

/// A slot that was asked is so no longer.
void Builder::end_asking(Readout& readout, Slot& slot) {
    window_.answered(slot.booked, readout.trip.smoothed());
    slot.booked = 0;
    --readout.outstanding;
    if (!readout.to_ask.empty()) queue(static_cast<std::uint32_t>(&readout - readouts_.data()));
}

void Builder::run_on(SteadyTime now) {
    constexpr std::chrono::nanoseconds step_max = std::chrono::milliseconds(3);  // steps come every millisecond, at least
    if (last_step_ != SteadyTime{}) ran_ += std::min<std::chrono::nanoseconds>(now - last_step_, step_max);
    last_step_ = now;
}

/// One slow readout holds up the asking again of the others by a bounded factor only.
std::chrono::nanoseconds Builder::least_wait() const noexcept {
    const std::chrono::nanoseconds least = options_.reask_min, most = std::min<std::chrono::nanoseconds>(8 * least, options_.reask_max);
    return std::clamp(2 * longest_trip_, std::min(least, most), most);
}

/// A request is one sample, however many events it asks for. Eight that are alike would make the variation small, and the
/// wait so short that the next longer trip is taken for a loss.
void Builder::time_trip(Readout& readout, const Slot& slot, std::uint64_t request, SteadyTime now) {
    if (readout.timed_request != request) {
        if (readout.timed_trip.count() > 0) readout.trip.sample(readout.timed_trip);
        readout.timed_request = request;
        readout.timed_trip = {};
    }
    if (slot.tries == 1 && slot.request == request) {
        readout.timed_trip = now - slot.at;
        longest_trip_ = std::max(longest_trip_, readout.timed_trip);
    }
    if (readout.trip.smoothed().count() == 0 && readout.timed_trip.count() > 0) readout.trip.sample(readout.timed_trip);
}

void Builder::look_for_losses(std::uint32_t index, SteadyTime now) {
    auto& readout = readouts_[index];
    while (!readout.asked.empty()) {
        const auto ask = readout.asked.front();
        const auto* slot = find(ask, index);
        if (slot == nullptr || slot->state != SlotState::asked || slot->request != ask.request) {
            readout.asked.pop_front();  // answered meanwhile, or not wanted any more
            continue;
        }
        const auto waited = now - slot->at;
        const bool overtaken = ask.overtaken >= 3 && waited > readout.trip.smoothed() + readout.trip.smoothed() / 2;
        // While the readout answers others in turn, it is only slow: what is lost among them is overtaken (RFC 6298, 5.3).
        const auto silent = ran_ - std::max(ask.ran, readout.answered);
        if (!overtaken && silent < readout.trip.wait(slot->tries - 1U, least_wait(), options_.reask_max)) break;
        readout.asked.pop_front();
        lost_on_the_way(index, ask, now);
    }
    while (!readout.resting.empty()) {
        const auto ask = readout.resting.front();
        auto* slot = find(ask, index);
        if (slot != nullptr && slot->state == SlotState::resting) {
            if (slot->at > now) break;
            slot->state = SlotState::wanted;
            readout.to_ask.push_front(ask);
            queue(index);
        }
        readout.resting.pop_front();
    }
}

void Builder::lost_on_the_way(std::uint32_t index, Ask ask, SteadyTime) {
    auto& readout = readouts_[index];
    auto* slot = find(ask, index);
    window_.lost(slot->booked);
    slot->booked = 0;
    --readout.outstanding;
    ++counts_.asked_again;
    slot->state = SlotState::wanted;
    readout.to_ask.push_front(ask);
    queue(index);
}

void Builder::look_at_deadlines(SteadyTime now) {
    while (!begun_.empty()) {
        auto& assembly = assemblies_[begun_.front().assembly];
        const bool gone = !assembly.active || assembly.generation != begun_.front().generation;
        if (!gone && now - assembly.begun < options_.event_deadline) break;
        if (!gone) run_out(assembly, now, false);
        begun_.pop_front();
    }
    if (suspects_ == 0) return;
    for (auto& assembly : assemblies_) {
        if (assembly.active && now - assembly.begun >= options_.suspect_deadline) run_out(assembly, now, true);
    }
}

/// Nobody waits for this answer any more.
void Builder::release(Assembly& assembly, std::uint32_t index, bool lost) {
    auto& slot = assembly.slots[index];
    auto& readout = readouts_[index];
    if (slot.state != SlotState::asked) return;
    if (lost) {
        window_.lost(slot.booked);
    } else {
        window_.answered(slot.booked, readout.trip.smoothed());
    }
    slot.booked = 0;
    --readout.outstanding;
    if (!readout.to_ask.empty()) queue(index);
}

/// What has not come of an event is lost: from all readouts, or only from those that have let events run out before.
void Builder::run_out(Assembly& assembly, SteadyTime, bool suspects_only) {
    for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
        auto& slot = assembly.slots[i];
        auto& readout = readouts_[i];
        if (slot.state == SlotState::done || (suspects_only && !readout.suspect)) continue;
        if (!readout.suspect) {
            readout.suspect = true;
            ++suspects_;
            remark(fmt::format("readout {} has not answered for event {} within {}; until it answers its ROBs are empty, with status "
                               "bits", readout.name, number(assembly.ticket.level1_id), to_string(options_.event_deadline)));
        }
        release(assembly, i, true);
        slot_done(assembly, i);
    }
    if (assembly.missing == 0) complete(static_cast<std::uint32_t>(&assembly - assemblies_.data()));
}

}  // namespace weir::building
