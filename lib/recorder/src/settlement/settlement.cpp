// SPDX-License-Identifier: Apache-2.0
#include "settlement/settlement.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::recorder {
namespace {

constexpr std::uint64_t timed_of = 64;  // one event in so many

}  // namespace

Settlement::Settlement(SettlementOptions options, AnswerTarget& target, const OperatorReports& reports)
    : options_(std::move(options)), target_(target), reports_(reports), unique_(options_.unique_memory_max) {}

void Settlement::begin_run(RunNumber run, std::size_t patience, std::span<const catalogue::LedgerRow> known) {
    run_ = run;
    held_.begin(run, options_.recorder, patience, known);
}

void Settlement::restore(delivery::SessionId session, const wire::SessionKey& key, const wire::SequenceSet& durable) {
    sessions_.restore(number(session), key, durable);
}

void Settlement::restore(delivery::Answer event, std::uint64_t taken) {
    partial_.keep(number(event.session), event.sequence, {taken, nullptr, true});
}

void Settlement::restore(recovery::EventHoldings events) { unique_.restore(std::move(events)); }

void Settlement::declare(delivery::SessionId session, const wire::SessionKey& key) {
    sessions_.declare(number(session), key);
}

// An event that comes -----------------------------------------------------------------------------

bool Settlement::has_room() {
    if (copies_in_hand_.load() < options_.copies_in_hand_max) return true;
    // Set first, and the count read again then: no_longer_in_hand() makes room first and reads the flag then, so one of
    // the two sees the other. (Both in the single order of sequential consistency.)
    event_waits_.store(true);
    return copies_in_hand_.load() < options_.copies_in_hand_max;
}

std::optional<Settlement::Taking> Settlement::begin(delivery::IncomingEvent& event, std::span<Ledger* const> ledgers) {
    const auto session = number(event.session);
    const auto sequence = event.meta.sequence;
    Taking taking{.event = {event.session, sequence}, .id = event.meta.global_id};
    UniqueEvents::Left left;
    if (options_.unique_events && is_duplicate(event, ledgers, taking.streams, left)) return std::nullopt;
    auto& state = taking.state;
    state =
        taking.streams != 0 ? std::move(left.state) : partial_.find(session, sequence).value_or(PartialCopies::State{});
    if (state.ticket && taking.streams != 0) {  // a duplicate's that has stopped, or its own
        state.ticket->session = session;
        state.ticket->sequence = sequence;
    }
    if (!state.ticket) {
        state.ticket = std::make_shared<Ticket>();
        state.ticket->session = session;
        state.ticket->sequence = sequence;
        state.ticket->event = event.meta.global_id;
        state.ticket->streams = taking.streams;
        if (options_.clock != nullptr && number(sequence) % timed_of == 0) state.ticket->begun = options_.clock->now();
        std::uint32_t missing = 0;
        for (std::uint16_t copy = 0; copy < ledgers.size(); ++copy) missing += taking.needs(copy) ? 1U : 0U;
        // And one until end(): the event is not answered while it is being taken, or waits for more memory.
        state.ticket->copies_open.store(missing + 1, std::memory_order_relaxed);
        state.ticket->done.store(state.taken, std::memory_order_relaxed);
        state.ticket->late.store(state.late, std::memory_order_relaxed);
        state.ticket->any_stored.store(state.taken != 0 && state.any_stored, std::memory_order_relaxed);
    }
    return taking;
}

void Settlement::placed(Ledger& ledger) {
    ledger.received();
    copies_in_hand_.fetch_add(1, std::memory_order_relaxed);
}

void Settlement::late(Ledger& ledger, Ticket& ticket, std::uint16_t copy, delivery::CreditHold* credit) {
    ledger.received();
    ledger.rejected(wire::RejectReason::late);
    held_.count(ledger, wire::RejectReason::late);
    mark(ticket, copy, Fate::late);
    settle_and_answer(ticket, credit);
}

void Settlement::end(const Taking& taking, delivery::CreditHold& credit) {
    // Before the last hold is released: settle() may keep it anew.
    partial_.drop(number(taking.event.session), taking.event.sequence);
    settle_and_answer(*taking.state.ticket, &credit);
}

void Settlement::stop(Taking taking) {
    if (taking.streams == 0) {
        if (taking.state.taken != 0)
            partial_.keep(number(taking.event.session), taking.event.sequence, std::move(taking.state));
        return;
    }
    std::vector<delivery::Answer> again;
    return_duplicates(taking.state.taken != 0 ? unique_.stopped(taking.id, {std::move(taking.state), taking.streams})
                                              : unique_.lost(taking.id),
                      again);
    if (!again.empty()) target_.send_again(again);
}

// Events that are not stored ----------------------------------------------------------------------

/// An event that names no stream has no copies; what is kept of it for good counts it as one.
void Settlement::count_rejected(GlobalEventId id, std::span<Ledger* const> ledgers, wire::RejectReason reason) {
    if (reason != wire::RejectReason::duplicate) last_rejected_.store(number(id), std::memory_order_relaxed);
    for (auto* ledger : ledgers) {
        ledger->received();
        ledger->rejected(reason);
        held_.count(*ledger, reason);
    }
    if (ledgers.empty()) held_.count(unplaced_, reason);
}

void Settlement::hold_rejection(delivery::Answer event, wire::RejectReason reason, std::string text,
                                delivery::CreditHold credit) {
    held_.hold({event, HeldAnswers::Kind::reject, reason, std::move(text), std::move(credit)});
}

void Settlement::reject(delivery::IncomingEvent& event, std::span<Ledger* const> ledgers, wire::RejectReason reason,
                        std::string text) {
    count_rejected(event.meta.global_id, ledgers, reason);
    auto taken = std::move(event);
    hold_rejection({taken.session, taken.meta.sequence}, reason, std::move(text), std::move(taken.credit));
}

void Settlement::not_passed_on(delivery::Answer event, GlobalEventId id, std::span<Ledger* const> ledgers,
                               wire::RejectReason reason, delivery::CreditHold& credit) {
    count_rejected(id, ledgers, reason);
    held_.hold({.event = event, .kind = HeldAnswers::Kind::not_passed_on, .credit = std::move(credit)});
}

void Settlement::answer(HeldAnswers::Round& round) {
    held_.written(round);
    std::vector<delivery::Answer> others, acknowledged;
    for (auto& held : round.answers) {
        switch (held.kind) {
            case HeldAnswers::Kind::not_passed_on: others.push_back(held.event); break;
            case HeldAnswers::Kind::reject: target_.reject(held.event, held.reason, std::move(held.text)); break;
            case HeldAnswers::Kind::acknowledge: acknowledged.push_back(held.event); break;
        }
    }
    target_.acknowledge(acknowledged);
    target_.not_passed_on(others);
}

// What becomes of placed copies -------------------------------------------------------------------

void Settlement::mark(Ticket& ticket, std::uint16_t copy, Fate fate) {  // all of it is ordered by the count of settle()
    if (fate == Fate::lost) return ticket.any_lost.store(true, std::memory_order_relaxed);
    const auto bit = std::uint64_t{1} << copy;
    ticket.done.fetch_or(bit, std::memory_order_relaxed);
    if (fate == Fate::late) ticket.late.fetch_or(bit, std::memory_order_relaxed);
    if (fate == Fate::durable) ticket.any_stored.store(true, std::memory_order_relaxed);
}

void Settlement::settle(Ticket& ticket, Settled& settled, delivery::CreditHold* credit) {
    if (ticket.copies_open.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    // Only the last thread comes here, so no other uses the event's credit; and whose event it is does not change any
    // more (begin() of a duplicate).
    const auto take_credit = [credit] { return credit != nullptr ? std::move(*credit) : delivery::CreditHold{}; };
    const delivery::Answer event{delivery::SessionId{ticket.session}, ticket.sequence};
    const bool any_stored = ticket.any_stored.load(std::memory_order_relaxed);
    const auto late = ticket.late.load(std::memory_order_relaxed);
    if (ticket.any_lost.load(std::memory_order_relaxed)) {
        // Kept before it is returned: when it comes again, only what is missing is stored.
        const auto done = ticket.done.load(std::memory_order_relaxed);
        const PartialCopies::State state{done, nullptr, any_stored, late};
        if (ticket.streams != 0) {
            const auto left = done != 0 ? std::optional(UniqueEvents::Left{state, ticket.streams}) : std::nullopt;
            return_duplicates(unique_.lost(ticket.event, left), settled.again);
        } else if (done != 0) {
            partial_.keep(ticket.session, ticket.sequence, state);
        }
        return settled.again.push_back(event);
    }
    if (any_stored) {
        if (ticket.begun != SteadyTime{}) durations_.add(options_.clock->now() - ticket.begun);
        sessions_.add(ticket.session, ticket.sequence);
        if (ticket.streams != 0) reject_duplicates(unique_.durable(ticket.event));
        if (late == 0) return settled.acknowledged.push_back(event);
        return held_.hold({.event = event, .kind = HeldAnswers::Kind::acknowledge, .credit = take_credit()});
    }
    if (ticket.streams != 0) return_duplicates(unique_.lost(ticket.event), settled.again);
    hold_rejection(event, wire::RejectReason::late, "its lumi block was closed before it came", take_credit());
}

void Settlement::send(const Settled& settled) {
    if (!settled.acknowledged.empty()) target_.acknowledge(settled.acknowledged);
    if (!settled.again.empty()) target_.send_again(settled.again);
}

void Settlement::settle_and_answer(Ticket& ticket, delivery::CreditHold* credit) {
    Settled settled;
    settle(ticket, settled, credit);
    send(settled);
}

void Settlement::durable(std::span<const PlacedCopy> copies) {
    Settled settled;
    settled.acknowledged.reserve(copies.size());
    for (const auto& [entry, ticket, ledger] : copies) {
        ledger->stored(entry.length);
        mark(*ticket, entry.copy, Fate::durable);
        settle(*ticket, settled);
    }
    send(settled);
    no_longer_in_hand(copies.size());
}

void Settlement::lost(std::span<const PlacedCopy> copies) {
    Settled settled;
    for (const auto& [entry, ticket, ledger] : copies) {
        ledger->returned();
        mark(*ticket, entry.copy, Fate::lost);
        settle(*ticket, settled);
    }
    send(settled);
    no_longer_in_hand(copies.size());
}

void Settlement::no_longer_in_hand(std::uint64_t copies) {
    copies_in_hand_.fetch_sub(copies);
    if (event_waits_.exchange(false)) target_.retry();
}

std::vector<catalogue::SessionMark> Settlement::take_changed_marks() {
    auto marks = sessions_.take_changed_marks(options_.recorder);
    if (!options_.unique_events) return marks;
    std::ranges::move(unique_.take_changed(run_, options_.recorder), std::back_inserter(marks));
    return marks;
}

}  // namespace weir::recorder
