// SPDX-License-Identifier: Apache-2.0
// The events of a connection: from the head, which decides what becomes of the payload, to the sink.
#include <fmt/format.h>

#include "receiving/connection.hpp"
#include "weir/base/assert.hpp"

namespace weir::delivery {
namespace {

void count_passed_on(ReceiverStats& stats, const wire::EventMeta& meta, std::size_t size) {
    ++stats.passed_on;
    ++stats.in_hand;
    stats.bytes += size;
    stats.copies += meta.tags.size();
}

}  // namespace

void Connection::event_begins(SteadyTime now) {
    const auto& header = assembler_.header();
    began_ = now;
    if (!header.is(wire::MessageType::event)) {
        if (header.needed() || (header.flags & wire::flag_optional) == 0)
            return malformed(fmt::format("a message of type {} with a payload may not come here", header.type), now);
        return assembler_.skip();
    }
    if (state_ != State::running) return malformed("an EVENT came before HELLO", now);

    last_event_ = now;
    received_ += header.message_size();
    if (received_ > account_->announced()) return malformed("more bytes were sent than credit was given", now);

    incoming_ = {};
    incoming_.message_size = header.message_size();
    auto meta = wire::decode_event(assembler_.meta(), header.flags);
    if (meta) {
        incoming_.meta = std::move(*meta);
    } else if (meta.error().code == Errc::limit) {  // whole, but its tags are not taken: answered by sequence
        incoming_.meta.sequence = wire::decode_event_sequence(assembler_.meta()).value();
        incoming_.meta.oldest_held = oldest_held_;
        reject(wire::RejectReason::bad_tag, meta.error().message());
    } else {
        return malformed(meta.error().message(), now);
    }
    if (incoming_.meta.oldest_held < oldest_held_ || incoming_.meta.sequence < oldest_held_)
        return malformed(
            fmt::format("sequence {} comes with {} as the oldest held, after {}", number(incoming_.meta.sequence),
                        number(incoming_.meta.oldest_held), number(oldest_held_)),
            now);
    oldest_held_ = incoming_.meta.oldest_held;
    decide(now);
}

void Connection::decide(SteadyTime now) {
    const auto& header = assembler_.header();
    std::uint64_t skipped = 0;
    const auto standing = session_->arrives(id_, incoming_.meta, previous_, skipped);
    if (skipped > 0) {
        context_.ledger.update([&](ReceiverStats& stats) { stats.gaps += skipped; });
        context_.report.alarm("sequence gap", fmt::format("{}: {} sequences are missing between {} and {}", who(),
                                                          skipped, number(previous_), number(incoming_.meta.sequence)));
    }
    previous_ = std::max(previous_, incoming_.meta.sequence);
    switch (standing) {
        case Session::Standing::final:
        case Session::Standing::in_hand:
            incoming_.duplicate = true;
            incoming_.rejected.reset();
            return assembler_.skip();
        case Session::Standing::scattered:
            context_.report.warning(fmt::format("{}: its sequences are too scattered", who()));
            return close(wire::ByeReason::limit, "the sequences of this session are too scattered", now);
        case Session::Standing::not_owner:
            return close(wire::ByeReason::replaced, "a newer connection of the same session has come", now);
        case Session::Standing::fresh: break;
    }
    if (header.payload_size > context_.options.event_size_max.count() && !incoming_.rejected)
        reject(wire::RejectReason::too_large,
               fmt::format("{} bytes; {} is the most that this recorder takes", header.payload_size,
                           context_.options.event_size_max.count()));
    if (incoming_.rejected) return assembler_.skip();

    // The one that waits longest is served first, or else small events would overtake a large one for ever.
    parked_ = take_memory(memory_wanted_, now);
    if (parked_ == Parked::no) return;
    ++stalls_;
    context_.ledger.update([](ReceiverStats& stats) { ++stats.waits_for_memory; });
}

Connection::Parked Connection::take_memory(bool others_wait, SteadyTime now) {
    const auto size = assembler_.header().payload_size;
    // One that then waits for the pool keeps its hold: another large event would take the memory meanwhile.
    if (!incoming_.hold) incoming_.hold = context_.reception.try_hold(size, incoming_.place, now);
    if (!incoming_.hold) return Parked::for_share;
    auto buffer = others_wait ? std::nullopt : context_.pool.try_take(size);
    if (!buffer) return Parked::for_memory;
    incoming_.buffer = std::move(*buffer);
    assembler_.keep(incoming_.buffer.data());
    return Parked::no;
}

void Connection::reject(wire::RejectReason reason, std::string text) {
    incoming_.rejected = reason;
    incoming_.reject_text = std::move(text);
}

void Connection::resume(SteadyTime now) {
    if (parked_ == Parked::for_memory || parked_ == Parked::for_share) {
        parked_ = take_memory(parked_ == Parked::for_share && memory_wanted_, now);
        if (parked_ != Parked::no) return;
        began_ = last_byte_ = now;  // the time that it was parked is not the sender's
    } else if (parked_ == Parked::for_sink) {
        parked_ = Parked::no;
        context_.ledger.update([this](ReceiverStats& stats) {
            --stats.waiting;
            count_passed_on(stats, waiting_.meta, waiting_.payload.size());
        });
        deliver();
    }
    if (parked_ == Parked::no && !rest_.empty()) {
        const auto rest = std::exchange(rest_, {});
        consume(rest, now);
    }
}

void Connection::event_ends(SteadyTime now) {
    if (!assembler_.header().is(wire::MessageType::event)) return;  // an optional message was skipped
    auto& event = incoming_;
    const bool verify = context_.options.verify_payload;
    if (verify && !event.duplicate && !event.rejected && assembler_.payload_crc() != event.meta.payload_crc) {
        context_.report.warning(
            fmt::format("{}: the payload of sequence {} has crc32c {:08x}, its sender announced {:08x}", who(),
                        number(event.meta.sequence), assembler_.payload_crc(), event.meta.payload_crc));
        reject(wire::RejectReason::corrupt_payload, "the payload does not have the crc32c that was sent with it");
    }
    auto begun = Session::Begun::duplicate;
    if (!event.duplicate) begun = session_->begin(id_, event.meta.sequence);
    if (begun != Session::Begun::yes) event.rejected.reset();

    event.hold.release();  // whole: how long its memory is held is up to us now
    const auto size = assembler_.header().payload_size;
    const auto reason = event.rejected;
    const bool skipped = reason || begun == Session::Begun::duplicate;
    const bool held = skipped && context_.sink.not_passed_on_is_answered() == AnswerTime::later;
    context_.ledger.update([&](ReceiverStats& stats) {
        ++stats.received;
        if (held) ++stats.held;
        if (reason) ++stats.rejected_here[wire::index(*reason)], stats.bytes_skipped += size;
        else if (begun == Session::Begun::duplicate) ++stats.duplicates, stats.bytes_skipped += size;
        else if (begun == Session::Begun::not_owner) ++stats.discarded;
        else count_passed_on(stats, event.meta, size);
    });
    CreditHold credit(account_, event.message_size);
    if (reason) session_->hold_rejection(event.meta.sequence, *reason, std::move(event.reject_text));
    if (skipped) {
        context_.sink.not_passed_on(session_->id, event.meta, reason.value_or(wire::RejectReason::duplicate), credit);
        if (!held) session_->answer(event.meta.sequence);
    } else if (begun == Session::Begun::not_owner) {
        incoming_ = {};
        return close(wire::ByeReason::replaced, "a newer connection of the same session has come", now);
    } else {
        const auto payload_crc = event.meta.payload_crc;
        waiting_ = IncomingEvent{.session = session_->id,
                                 .format = format_,
                                 .meta = std::move(event.meta),
                                 .payload = std::move(event.buffer),
                                 .payload_crc = payload_crc,
                                 .credit = std::move(credit)};
        deliver();
        if (parked_ != Parked::no) ++stalls_;
    }
    incoming_ = {};
}

/// `waiting_` goes to the sink. It is counted as passed on already, because the sink may answer it before
/// take() returns.
void Connection::deliver() {
    if (context_.sink.take(waiting_) == Taken::yes) {
        waiting_ = {};
        return;
    }
    WEIR_ASSERT(waiting_.payload);
    parked_ = Parked::for_sink;
    context_.ledger.update([this](ReceiverStats& stats) {
        ++stats.waits_for_sink;
        ++stats.waiting;
        --stats.passed_on;
        --stats.in_hand;
        stats.bytes -= waiting_.payload.size();
        stats.copies -= waiting_.meta.tags.size();
    });
}

}  // namespace weir::delivery
