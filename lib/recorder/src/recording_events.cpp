// SPDX-License-Identifier: Apache-2.0
// The recorder's data path: an event that came is checked, placed once per tag, copied, and, when all of
// it is durable, answered.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "recording.hpp"
#include "weir/base/assert.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/partial.hpp"

namespace weir::recorder {
namespace {

constexpr std::size_t stream_queue_max = 64;  // events; their memory is the pool's in any case

event::Format format_of(wire::EventFormat format) {
    switch (format) {
        case wire::EventFormat::event_5_0: return event::Format::event_5_0;
        case wire::EventFormat::event_3_0: return event::Format::event_3_0;
        case wire::EventFormat::opaque: return event::Format::opaque;
    }
    return event::Format::opaque;
}

std::uint64_t nanoseconds(WallTime time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

}  // namespace

/// A taken event that waits for the threads of its streams.
struct Recording::EventInHand {
    delivery::IncomingEvent event;
    std::shared_ptr<Ticket> ticket;
};

void Recording::not_passed_on(delivery::SessionId session, const wire::EventMeta& event, wire::RejectReason reason,
                              delivery::CreditHold& credit) {
    count_rejected(event, reason);
    held_.hold({.event = {session, event.sequence}, .kind = HeldAnswers::Kind::let_go, .credit = std::move(credit)});
}

/// An event that names no stream has no copies; what is kept of it for good counts it as one.
void Recording::count_rejected(const wire::EventMeta& event, wire::RejectReason reason) {
    if (reason != wire::RejectReason::duplicate)
        last_rejected_.store(number(event.global_id), std::memory_order_relaxed);
    const std::shared_lock lock(streams_mutex_);
    for (const auto& tag : event.tags) {
        const auto found = streams_.find(stream_key(tag));
        auto& ledger = found == streams_.end() ? unplaced_ : found->second.stream->ledger();
        ledger.received();
        ledger.rejected(reason);
        held_.count(ledger, reason);
    }
    if (event.tags.empty()) held_.count(unplaced_, reason);
}

void Recording::hold_rejection(delivery::Answer event, wire::RejectReason reason, std::string text,
                               delivery::CreditHold credit) {
    held_.hold({event, HeldAnswers::Kind::reject, reason, std::move(text), std::move(credit)});
}

void Recording::answer(HeldAnswers::Round& round) {
    std::vector<delivery::Answer> dropped, acknowledged;
    for (auto& held : round.answers) {
        switch (held.kind) {
            case HeldAnswers::Kind::let_go: dropped.push_back(held.event); break;
            case HeldAnswers::Kind::reject: receiver_->reject(held.event, held.reason, std::move(held.text)); break;
            case HeldAnswers::Kind::acknowledge: acknowledged.push_back(held.event); break;
        }
    }
    receiver_->acknowledge(acknowledged);
    receiver_->answer(dropped);
}

delivery::Taken Recording::reject(delivery::IncomingEvent& event, wire::RejectReason reason, std::string text) {
    count_rejected(event.meta, reason);
    auto taken = std::move(event);
    hold_rejection({taken.session, taken.meta.sequence}, reason, std::move(text), std::move(taken.credit));
    return delivery::Taken::yes;
}

Recording::StreamEntry* Recording::find_or_make_stream(const StreamTag& tag, event::Format format,
                                                       wire::RejectReason& why_not) {
    const auto key = stream_key(tag);
    {
        const std::shared_lock lock(streams_mutex_);
        if (const auto found = streams_.find(key); found != streams_.end()) {
            why_not = wire::RejectReason::format_mismatch;
            return found->second.stream->format() == format ? &found->second : nullptr;
        }
    }
    const std::unique_lock lock(streams_mutex_);
    if (const auto found = streams_.find(key); found != streams_.end()) {
        why_not = wire::RejectReason::format_mismatch;
        return found->second.stream->format() == format ? &found->second : nullptr;
    }
    if (streams_.size() >= options_.streams_max) {
        why_not = wire::RejectReason::streams_exceeded;
        return nullptr;
    }
    StreamTag identity;
    identity.type = tag.type;
    identity.name = tag.name;
    identity.obeys_lumi_block = tag.obeys_lumi_block;
    StreamEntry entry;
    entry.stream = std::make_unique<Stream>(std::move(identity), format, options_, *keeper_, blocks_, clock_);
    if (options_.mode == Mode::original || options_.mode == Mode::parallel)
        entry.thread = std::make_unique<StreamThread>(stream_queue_max);
    return &streams_.emplace(key, std::move(entry)).first->second;
}

Recording::Stored Recording::store_copy(Stream& stream, const delivery::IncomingEvent& event,
                                        const std::shared_ptr<Ticket>& ticket, std::uint16_t copy,
                                        datafile::EarlierStreams earlier) {
    const auto& tag = event.meta.tags[copy];
    event::EventPieces pieces;
    if (tag.partial()) {
        // take() has cut it once already, so it can be cut.
        const auto view = event::EventView::parse(event.payload.data(), stream.format());
        WEIR_ASSERT(view && event::cut_event(*view, tag, pieces));
    }
    CopyRequest request;
    request.length = tag.partial() ? pieces.size() : event.payload.size();
    request.event = event.meta.global_id;
    request.level1 = event.meta.level1_id;
    request.lumi_block = event.meta.lumi_block;
    request.copy = copy;
    request.copies = static_cast<std::uint16_t>(event.meta.tags.size());
    request.received_ns = nanoseconds(clock_.wall());
    request.earlier = std::move(earlier);
    request.ticket = ticket;
    request.ledger = &stream.ledger();
    Place place;
    std::shared_ptr<StreamFile> file;
    switch (stream.assign(request, place, file)) {
        case Stream::Assigned::yes: break;
        case Stream::Assigned::nowhere: nowhere_.store(true); [[fallthrough]];  // asked again by the closing thread
        case Stream::Assigned::full: return Stored::full;
        case Stream::Assigned::late:
            stream.ledger().received();
            stream.ledger().rejected(wire::RejectReason::late);
            held_.count(stream.ledger(), wire::RejectReason::late);
            return Stored::late;
    }
    stream.ledger().received();
    copies_in_hand_.fetch_add(1, std::memory_order_relaxed);
    file->complete(place, tag.partial() ? copier_->copy(pieces, place)
                                        : copier_->copy(event.payload.data(), event.payload_crc, place));
    return Stored::yes;
}

datafile::EarlierStreams Recording::earlier_streams(const std::vector<StreamEntry*>& entries, std::uint64_t taken,
                                                    std::uint16_t copy) {
    constexpr std::size_t lists_max = 4096;  // beyond, each event has its own
    std::vector<const Stream*> streams;
    for (std::uint16_t earlier = 0; earlier < copy; ++earlier) {
        if ((taken >> earlier & 1) != 0) streams.push_back(entries[earlier]->stream.get());
    }
    if (streams.empty()) return {};
    const std::scoped_lock lock(earlier_mutex_);
    if (const auto known = earlier_.find(streams); known != earlier_.end()) return known->second;
    std::vector<std::string> keys;
    for (const auto* stream : streams) keys.push_back(stream_key(stream->tag()));
    datafile::EarlierStreams list{std::make_shared<const std::vector<std::string>>(std::move(keys))};
    if (earlier_.size() < lists_max) earlier_.emplace(std::move(streams), list);
    return list;
}

void Recording::store_copy_waiting(Stream& stream, EventInHand& in_hand, std::uint16_t copy,
                                   const datafile::EarlierStreams& earlier) {
    while (true) {
        switch (store_copy(stream, in_hand.event, in_hand.ticket, copy, earlier)) {
            case Stored::yes: return;
            case Stored::late:
                mark(*in_hand.ticket, copy, Fate::late);
                return settle_and_answer(*in_hand.ticket, &in_hand.event.credit);
            case Stored::full: segments_->wait_for_freed(std::chrono::milliseconds{20}); break;
        }
        // A stop has waited long enough: the event has no answer, its sender keeps it.
        if (clock_.now().time_since_epoch().count() >= give_up_at_.load(std::memory_order_relaxed)) return;
    }
}

void Recording::mark(Ticket& ticket, std::uint16_t copy, Fate fate) {  // all of it is ordered by the count of settle()
    if (fate == Fate::lost) return ticket.any_lost.store(true, std::memory_order_relaxed);
    ticket.done.fetch_or(std::uint64_t{1} << copy, std::memory_order_relaxed);
    if (fate == Fate::late) ticket.any_late.store(true, std::memory_order_relaxed);
    if (fate == Fate::durable) ticket.any_stored.store(true, std::memory_order_relaxed);
}

Recording::Answered Recording::settle(Ticket& ticket, std::uint32_t count,
                                      std::vector<delivery::Answer>& duplicates_again, delivery::CreditHold* credit) {
    if (ticket.copies_open.fetch_sub(count, std::memory_order_acq_rel) > count) return Answered::not_yet;
    // Only whoever is last comes here, so nobody else uses the event's credit.
    const auto take_credit = [credit] { return credit != nullptr ? std::move(*credit) : delivery::CreditHold{}; };
    const bool any_stored = ticket.any_stored.load(std::memory_order_relaxed);
    if (ticket.any_lost.load(std::memory_order_relaxed)) {
        // Kept before it is asked for: when it comes again, only what is missing is stored.
        const auto done = ticket.done.load(std::memory_order_relaxed);
        const PartialCopies::State state{done, nullptr, any_stored};
        if (ticket.streams != 0) {
            const auto left = done != 0 ? std::optional(UniqueEvents::Left{state, ticket.streams}) : std::nullopt;
            ask_again(unique_.lost(ticket.event, left), duplicates_again);
        } else if (done != 0) {
            partial_.keep(ticket.session, ticket.sequence, state);
        }
        return Answered::send_again;
    }
    if (any_stored) {
        sessions_.add(ticket.session, ticket.sequence);
        if (ticket.streams != 0) reject_duplicates(unique_.durable(ticket.event));
        if (!ticket.any_late.load(std::memory_order_relaxed)) return Answered::acknowledge;
        held_.hold({.event = {delivery::SessionId{ticket.session}, ticket.sequence},
                    .kind = HeldAnswers::Kind::acknowledge,
                    .credit = take_credit()});
        return Answered::held;
    }
    if (ticket.streams != 0) ask_again(unique_.lost(ticket.event), duplicates_again);
    hold_rejection({delivery::SessionId{ticket.session}, ticket.sequence}, wire::RejectReason::late,
                   "its lumi block was closed before it came", take_credit());
    return Answered::held;
}

void Recording::settle_and_answer(Ticket& ticket, delivery::CreditHold* credit) {
    const delivery::Answer answer{delivery::SessionId{ticket.session}, ticket.sequence};
    std::vector<delivery::Answer> again;
    const auto answered = settle(ticket, 1, again, credit);
    if (answered == Answered::acknowledge) receiver_->acknowledge({&answer, 1});
    if (answered == Answered::send_again) again.push_back(answer);
    if (!again.empty()) receiver_->send_again(again);
}

delivery::Taken Recording::take(delivery::IncomingEvent& event) {
    const auto& tags = event.meta.tags;
    const auto session = number(event.session);
    const auto sequence = event.meta.sequence;
    if (copies_in_hand_.load() >= copies_in_hand_max_) {
        // Said first and looked at again then: on_durable() makes room first and then asks who waits, so
        // one of the two sees the other. (Both in the single order of sequential consistency.)
        somebody_waits_.store(true);
        if (copies_in_hand_.load() >= copies_in_hand_max_) return delivery::Taken::full;
    }
    if (tags.empty()) return reject(event, wire::RejectReason::no_tags, "the event names no stream");
    if (tags.size() > 64) return reject(event, wire::RejectReason::bad_tag, "an event can name at most 64 streams");
    const auto format = format_of(event.format);
    if (const auto good = event::check_event(event.payload.data(), format, options_.check); !good)
        return reject(event, wire::RejectReason::malformed_event, good.error().context);

    std::vector<StreamEntry*> entries;
    entries.reserve(tags.size());
    for (const auto& tag : tags) {
        auto why_not = wire::RejectReason::other;
        auto* entry = find_or_make_stream(tag, format, why_not);
        if (entry == nullptr)
            return reject(event, why_not, fmt::format("stream {}: {}", stream_key(tag), name(why_not)));
        if (std::ranges::find(entries, entry) != entries.end())
            return reject(event, wire::RejectReason::bad_tag, fmt::format("stream {} is named twice", stream_key(tag)));
        entries.push_back(entry);
        if (!tag.partial()) continue;
        const auto view = event::EventView::parse(event.payload.data(), format);
        const auto cut =
            view ? event::cut_event(*view, tag) : Result<event::EventPieces>(std::unexpected(view.error()));
        if (!cut) return reject(event, wire::RejectReason::cannot_cut, cut.error().context);
    }

    std::uint64_t streams = 0;
    UniqueEvents::Left left;
    if (options_.unique_events) {
        if (const auto taken = look_for_duplicate(event, entries, streams, left)) return *taken;
    }
    auto state =
        streams != 0 ? std::move(left.state) : partial_.find(session, sequence).value_or(PartialCopies::State{});
    if (state.ticket && streams != 0) {  // a duplicate's that has stopped, or its own
        state.ticket->session = session;
        state.ticket->sequence = sequence;
    }
    if (!state.ticket) {
        state.ticket = std::make_shared<Ticket>();
        state.ticket->session = session;
        state.ticket->sequence = sequence;
        state.ticket->event = event.meta.global_id;
        state.ticket->streams = streams;
        std::uint32_t missing = 0;
        for (std::size_t i = 0; i < tags.size(); ++i) missing += (state.taken >> i & 1) == 0 ? 1U : 0U;
        // And one for this function: the event is not answered while it is being taken, or waits for more memory.
        state.ticket->copies_open.store(missing + 1, std::memory_order_relaxed);
        state.ticket->done.store(state.taken, std::memory_order_relaxed);
        state.ticket->any_stored.store(state.taken != 0 && state.any_stored, std::memory_order_relaxed);
    }
    std::shared_ptr<EventInHand> in_hand;                          // for the threads of the streams, which share it
    std::uint64_t late = 0;                                        // copies that no file gets
    for (std::uint16_t copy = 0; copy < entries.size(); ++copy) {  // the event may have been moved from
        if ((state.taken >> copy & 1) != 0) continue;
        auto& entry = *entries[copy];
        if (entry.thread) {  // whether the copies before it come late is not known yet: they are taken to be stored
            if (!in_hand) in_hand = std::make_shared<EventInHand>(EventInHand{std::move(event), state.ticket});
            entry.thread->push([this, in_hand, copy, stream = entry.stream.get(),
                                earlier = earlier_streams(entries, ~std::uint64_t{0}, copy)] {
                store_copy_waiting(*stream, *in_hand, copy, earlier);
            });
            continue;
        }
        switch (
            store_copy(*entry.stream, event, state.ticket, copy, earlier_streams(entries, state.taken & ~late, copy))) {
            case Stored::yes: state.taken |= std::uint64_t{1} << copy; break;
            case Stored::late:
                state.taken |= std::uint64_t{1} << copy;
                late |= std::uint64_t{1} << copy;
                mark(*state.ticket, copy, Fate::late);
                settle_and_answer(*state.ticket);
                break;
            case Stored::full:
                if (streams != 0) {
                    std::vector<delivery::Answer> again;
                    ask_again(state.taken != 0 ? unique_.stopped(event.meta.global_id, {state, streams})
                                               : unique_.lost(event.meta.global_id),
                              again);
                    if (!again.empty()) receiver_->send_again(again);
                } else if (state.taken != 0) {
                    partial_.keep(session, sequence, state);
                }
                return delivery::Taken::full;
        }
    }
    partial_.drop(session, sequence);  // before the last hold is let go: settle() may keep it anew
    delivery::CreditHold credit;
    if (!in_hand) credit = std::exchange(event, {}).credit;
    settle_and_answer(*state.ticket, in_hand ? &in_hand->event.credit : &credit);
    return delivery::Taken::yes;
}

void Recording::on_durable(std::vector<PlacedCopy>& copies) {
    std::vector<delivery::Answer> answers, again;
    answers.reserve(copies.size());
    for (const auto& [entry, ticket, ledger] : copies) {
        ledger->stored(entry.length);
        mark(*ticket, entry.copy, Fate::durable);
        const auto answered = settle(*ticket, 1, again);
        if (answered == Answered::acknowledge)
            answers.push_back({delivery::SessionId{ticket->session}, ticket->sequence});
        if (answered == Answered::send_again) again.push_back({delivery::SessionId{ticket->session}, ticket->sequence});
    }
    receiver_->acknowledge(answers);
    if (!again.empty()) receiver_->send_again(again);
    no_longer_in_hand(copies.size());
}

void Recording::no_longer_in_hand(std::uint64_t copies) {
    copies_in_hand_.fetch_sub(copies);
    if (somebody_waits_.exchange(false)) receiver_->retry();
}

void Recording::on_lost(std::vector<PlacedCopy>& copies) {
    std::vector<delivery::Answer> again;
    for (const auto& [entry, ticket, ledger] : copies) {
        ledger->given_back();
        mark(*ticket, entry.copy, Fate::lost);
        if (settle(*ticket, 1, again) == Answered::send_again)
            again.push_back({delivery::SessionId{ticket->session}, ticket->sequence});
    }
    receiver_->send_again(again);
    no_longer_in_hand(copies.size());
}

}  // namespace weir::recorder
