// SPDX-License-Identifier: Apache-2.0
// The requests of a builder: readouts take turns, several events share one request, the bytes in flight are bounded,
// and fragments that do not come in time are re-requested.
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
        if (!window_.room(next_request_bytes(readout))) return;
        ready_.pop_front();
        readout.queued = false;
        if (ask_one(readout, index, now) > 0 && !readout.to_ask.empty()) queue(index);
    }
}

/// Before a readout has answered, rather too much than too little: ten windows that are asked for at once come so late
/// that they seem lost. But two readouts whose first answers are lost must not fill a small window, when others have
/// answered.
std::uint64_t Builder::expected_size(const Readout& readout) const noexcept {
    constexpr std::uint64_t unknown = 64 << 10;
    if (readout.answer_size > 0) return readout.answer_size;
    if (largest_answer_ > 0) return largest_answer_;
    return std::min(unknown, window_.size() / 2);
}

/// All events to ask for go into one request, for which room is waited for: as soon as there is some for one
/// answer, each event would cost a request (RFC 1122, 4.2.3.3, is about the same). Of a small window a quarter.
std::uint64_t Builder::next_request_bytes(const Readout& readout) const noexcept {
    const auto events = std::min<std::size_t>({readout.to_ask.size(), options_.request_events, wire::request_events_max,
                                               options_.source_requests_max - readout.outstanding});
    const auto one = expected_size(readout);
    return std::clamp<std::uint64_t>(events * one, one, std::max(one, window_.size() / 4));
}

/// One request with as many events as fit; how many it asks for.
std::size_t Builder::ask_one(Readout& readout, std::uint32_t index, SteadyTime now) {
    request_.request = next_request_;
    request_.kind = wire::RequestKind::building;
    request_.events.clear();
    const auto most = std::min<std::size_t>(options_.request_events, wire::request_events_max);
    while (!readout.to_ask.empty() && request_.events.size() < most &&
           readout.outstanding < options_.source_requests_max) {
        if (!request_.events.empty() && !window_.room(expected_size(readout))) break;
        auto next = readout.to_ask.front();
        readout.to_ask.pop_front();
        auto* slot = find(next, index);
        if (slot == nullptr || slot->state != SlotState::wanted) continue;
        slot->state = SlotState::asked;
        if (slot->tries < 255) ++slot->tries;
        slot->at = now;
        slot->request = next_request_;
        slot->booked = static_cast<std::uint32_t>(std::min<std::uint64_t>(expected_size(readout), 1U << 30));
        window_.asked(slot->booked);
        next.request = next_request_;
        next.ran = ran_;
        next.overtaken = 0;
        readout.asked.push_back(next);
        ++readout.outstanding;
        request_.events.push_back(assemblies_[next.assembly].ticket.level1_id);
    }
    if (request_.events.empty()) return 0;
    buffer_.clear();
    encode(request_, buffer_);
    messages_.send(readout.id, DataflowType::data_request, buffer_);
    ++next_request_;
    ++counts_.requests;
    counts_.asked += request_.events.size();
    return request_.events.size();
}

/// The slot is not waiting for an answer any more.
void Builder::end_asking(Readout& readout, Slot& slot) {
    window_.released(slot.booked);
    slot.booked = 0;
    --readout.outstanding;
    if (!readout.to_ask.empty()) queue(static_cast<std::uint32_t>(&readout - readouts_.data()));
}

void Builder::run_on(SteadyTime now) {
    constexpr std::chrono::nanoseconds step_max =
        std::chrono::milliseconds(3);  // steps come every millisecond, at least
    if (last_step_ != SteadyTime{}) ran_ += std::min<std::chrono::nanoseconds>(now - last_step_, step_max);
    last_step_ = now;
}

/// Twice the longest trip, and reask_min for a line that stands still. One slow readout delays the re-requests to the
/// others by a bounded factor only.
std::chrono::nanoseconds Builder::least_wait() const noexcept {
    const std::chrono::nanoseconds least = options_.reask_min,
                                   most = std::min<std::chrono::nanoseconds>(8 * least, options_.reask_max);
    return std::clamp(2 * longest_trip_ + least, std::min(least, most), most);
}

/// A request is one sample, however many events it asks for. Eight that are alike would make the variation small, and
/// the wait so short that the next longer trip is taken for a loss.
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

Builder::Lag Builder::lag_behind(std::chrono::nanoseconds asked, std::uint64_t request) const noexcept {
    if (newest_answered_ <= asked || newest_request_ <= request) return {};
    return {.time = newest_answered_ - asked, .requests = newest_request_ - request};
}

/// Counts an answer against older requests to the same readout that have no answer yet: they were overtaken.
void Builder::note_order(Readout& readout, const Slot& slot, std::uint32_t assembly, std::uint64_t request) {
    constexpr std::uint32_t reordering_most = 64;
    const auto usual = [&](Lag lag) {
        readout.lag.time = std::max(lag.time, readout.lag.time - readout.lag.time / 64);
        readout.lag.requests = std::max(lag.requests, readout.lag.requests - (readout.lag.requests + 63) / 64);
        longest_lag_.time = std::max(longest_lag_.time, lag.time);
        longest_lag_.requests = std::max(longest_lag_.requests, lag.requests);
    };
    if (request == slot.request_before && request != 0) {
        // It seemed lost, and was only slow. So much is usual from now on, as RFC 8985 does it.
        longest_trip_ = std::max(longest_trip_, ran_ - slot.before);
        readout.trip.sample(ran_ - slot.before);
        usual(lag_behind(slot.before, request));
        readout.reordering = std::clamp(2 * slot.overtaken, readout.reordering, reordering_most);
        return;
    }
    if (request != slot.request) return;
    for (auto& earlier : readout.asked) {
        if (earlier.request != request || earlier.assembly != assembly) {
            ++earlier.overtaken;
            continue;
        }
        readout.reordering = std::clamp(earlier.overtaken + 1, readout.reordering, reordering_most);
        usual(lag_behind(earlier.ran, request));
        newest_answered_ = std::max(newest_answered_, earlier.ran);
        newest_request_ = std::max(newest_request_, request);
        return;
    }
}

/// How late an answer may be and only be slow. One slow readout delays the re-requests to the others by a bounded
/// factor only.
Builder::Lag Builder::patience(const Readout& readout, unsigned repetitions) const noexcept {
    constexpr std::chrono::nanoseconds least = std::chrono::milliseconds(1);
    const auto most = std::max<std::chrono::nanoseconds>(least, 8 * options_.reask_min);
    // Readouts do not answer in exactly the order of the requests. What is in flight at once bounds the difference.
    const auto in_flight = window_.size() / (options_.request_events * expected_size(readout));
    const auto least_requests = std::min<std::uint64_t>(in_flight, readouts_.size() / 2);
    const auto once = std::max(std::clamp(2 * longest_lag_.time, least, most), 2 * readout.lag.time);
    return {.time = std::min<std::chrono::nanoseconds>(once * (1 << std::min(repetitions, 10U)), options_.reask_max),
            .requests = std::max(2 * std::max(longest_lag_.requests, readout.lag.requests), least_requests)};
}

/// Each repetition doubles the time, unless the readout answers: one that is away is asked less and less often.
bool Builder::was_overtaken(const Readout& readout, const Ask& ask, unsigned repetitions) const noexcept {
    if (readout.answered > ask.ran) repetitions = 0;
    return ask.overtaken >= readout.reordering ||
           lag_behind(ask.ran, ask.request).beyond(patience(readout, repetitions));
}

/// While the readout answers others in turn, it is only slow (RFC 6298, 5.3); and after a pause of all, all begin anew.
bool Builder::is_silent(const Readout& readout, const Ask& ask, unsigned repetitions) const noexcept {
    const auto silent = ran_ - std::max({ask.ran, readout.answered, resumed_});
    return silent >= readout.trip.wait(repetitions, least_wait(), options_.reask_max);
}

/// An answer to a first request shows that the pause is over; one to a re-request, that the request before it is
/// lost: then twice as many are tried, as in slow start (RFC 5681).
void Builder::note_answer(Readout& readout, const Slot& slot) noexcept {
    if (slot.repeated) {
        tries_left_ = std::min(tries_left_ + 2, tries_most);
    } else {
        if (ran_ - last_answer_ >= options_.reask_min / 2) resumed_ = ran_;
        tries_left_ = std::max(tries_left_, tries_least);
    }
    readout.answered = last_answer_ = ran_;
}

void Builder::look_for_losses(std::uint32_t index, SteadyTime now) {
    auto& readout = readouts_[index];
    const auto asked_for = [&](const Ask& ask) -> const Slot* {
        const auto* slot = find(ask, index);
        return slot != nullptr && slot->state == SlotState::asked && slot->request == ask.request ? slot : nullptr;
    };
    while (!readout.asked.empty() && asked_for(readout.asked.front()) == nullptr) readout.asked.pop_front();
    // Without any answer, the line or a machine stands still, or everything got lost: only a few are tried at a time.
    if (ran_ - std::max(tried_at_, last_answer_) >= least_wait()) tries_left_ = tries_least;
    const auto seems_lost = [&](const Ask& ask, unsigned repetitions) {
        return was_overtaken(readout, ask, repetitions) || (tries_left_ > 0 && is_silent(readout, ask, repetitions));
    };
    // The one in front waits for longest and was overtaken most often: if it is not lost at its first repetition, none
    // is.
    if (!readout.asked.empty() && seems_lost(readout.asked.front(), 0)) {
        lost_asks_.clear();
        std::erase_if(readout.asked, [&](const Ask& ask) {
            const auto* slot = asked_for(ask);
            if (slot == nullptr) return true;
            if (!seems_lost(ask, slot->tries - 1U)) return false;
            if (!was_overtaken(readout, ask, slot->tries - 1U)) --tries_left_, tried_at_ = ran_;
            lost_asks_.push_back(ask);
            return true;
        });
        for (std::size_t i = lost_asks_.size(); i-- > 0;)
            lost_on_the_way(index, lost_asks_[i]);  // the oldest is asked first
    }
    while (!readout.resting.empty()) {
        const auto ask = readout.resting.front();
        auto* slot = find(ask, index);
        if (slot != nullptr && slot->state == SlotState::resting) {
            if (slot->at > now) break;
            slot->state = SlotState::wanted;
            readout.to_ask.push_back(ask);  // behind those that were not asked for at all
            queue(index);
        }
        readout.resting.pop_front();
    }
}

void Builder::lost_on_the_way(std::uint32_t index, const Ask& ask) {
    auto& readout = readouts_[index];
    auto& assembly = assemblies_[ask.assembly];
    auto& slot = assembly.slots[index];
    window_.lost(slot.booked);
    slot.booked = 0;
    --readout.outstanding;
    ++counts_.re_requested;
    slot.state = SlotState::wanted;
    slot.before = ask.ran;
    slot.request_before = ask.request;
    slot.overtaken = ask.overtaken;
    if (!std::exchange(slot.repeated, true)) end_first_time(assembly);
    readout.to_ask.push_front(ask);
    queue(index);
}

void Builder::end_first_time(Assembly& assembly) noexcept {
    if (--assembly.first_time == 0) --building_;
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

/// This answer is not expected any more.
void Builder::release(Assembly& assembly, std::uint32_t index, bool lost) {
    auto& slot = assembly.slots[index];
    auto& readout = readouts_[index];
    if (slot.state != SlotState::asked) return;
    if (lost) {
        window_.lost(slot.booked);
    } else {
        window_.released(slot.booked);
    }
    slot.booked = 0;
    --readout.outstanding;
    if (!readout.to_ask.empty()) queue(index);
}

/// Fragments of an event that have not come are lost: from all readouts, or only from those that have missed deadlines
/// before. A readout that has answered "not yet" is there; a source of it is missing.
void Builder::run_out(Assembly& assembly, SteadyTime, bool suspects_only) {
    for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
        auto& slot = assembly.slots[i];
        auto& readout = readouts_[i];
        if (slot.state == SlotState::done || (suspects_only && !readout.suspect)) continue;
        if (!readout.suspect && slot.not_yet == 0) {
            readout.suspect = true;
            ++suspects_;
            report_.warning(fmt::format(
                "readout {} has not answered for event {} within {}; until it answers its ROBs are empty, with status "
                "bits",
                readout.name, number(assembly.ticket.level1_id), to_string(options_.event_deadline)));
        }
        take_early(assembly, readout);
        release(assembly, i, true);
        slot_done(assembly, i);
    }
    if (assembly.missing == 0) complete(static_cast<std::uint32_t>(&assembly - assemblies_.data()));
}

}  // namespace weir::building
