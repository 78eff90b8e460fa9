// SPDX-License-Identifier: Apache-2.0
// Bytes to the messages of the dataflow. A count is checked against its limit and the bytes that are there before
// anything grows; the target keeps the memory of the message before.
#include <fmt/format.h>

#include "dataflow/dataflow_layout.hpp"
#include "field_reader.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::wire {
namespace {

std::unexpected<Error> message_too_short(const char* message, ConstData bytes) {
    return fail(Errc::truncated, fmt::format("{} ends before its last field ({} bytes)", message, bytes.size()));
}

/// A count, and that the bytes can back it: `each` is the size of an element, or the least that it can be.
Result<> check_count(const FieldReader& in, const char* what, std::size_t count, std::size_t most, std::size_t each) {
    if (!in.ok()) return fail(Errc::truncated, fmt::format("the message ends before the number of {}", what));
    if (count > most) return fail(Errc::limit, fmt::format("{} {} are announced, {} is the most", count, what, most));
    if (in.rest().size() / each < count)
        return fail(Errc::truncated, fmt::format("{} {} are announced and not there", count, what));
    return {};
}

/// `count` words that check_count() has seen.
template <class Word>
void take_words(FieldReader& in, std::size_t count, std::vector<Word>& into) {
    const auto bytes = in.take_bytes(word_size * count);
    into.resize(count);
    for (std::size_t i = 0; i < count; ++i) into[i] = Word{load_little<std::uint32_t>(bytes, word_size * i)};
}

template <class Word>
Result<> take_list(FieldReader& in, const char* what, std::size_t count, std::size_t most, std::vector<Word>& into) {
    WEIR_TRY(check_count(in, what, count, most, word_size));
    take_words(in, count, into);
    return {};
}

Result<> take_ticket(FieldReader& in, EventTicket& ticket) {
    ticket.global_id = GlobalEventId{in.take<std::uint64_t>()};
    ticket.level1_id = Level1Id{in.take<std::uint32_t>()};
    ticket.lumi_block = LumiBlock{in.take<std::uint32_t>()};
    ticket.bunch_crossing_id = in.take<std::uint32_t>();
    ticket.trigger_type = in.take<std::uint32_t>();
    ticket.seconds = in.take<std::uint32_t>();
    ticket.nanoseconds = in.take<std::uint32_t>();
    const auto flags = in.take<std::uint16_t>();
    ticket.reassigned = (flags & flag_reassigned) != 0;
    ticket.forced = (flags & flag_forced_ticket) != 0;
    const auto level1 = in.take<std::uint16_t>();
    const auto level2 = in.take<std::uint16_t>();
    in.take<std::uint16_t>();
    ticket.age = std::chrono::microseconds(in.take<std::uint32_t>());
    ticket.detector_shift = in.take<std::uint32_t>();
    WEIR_TRY(take_list(in, "level-1 words", level1, trigger_words_max, ticket.level1_words));
    return take_list(in, "level-2 words", level2, trigger_words_max, ticket.level2_words);
}

Result<> take_tickets(FieldReader& in, std::size_t count, std::vector<EventTicket>& into) {
    WEIR_TRY(check_count(in, "events", count, tickets_max, ticket_fixed));
    into.resize(count);
    for (auto& ticket : into) {
        WEIR_TRY(take_ticket(in, ticket));
    }
    return {};
}

}  // namespace

Result<> decode(ConstData message, DataRequest& into) {
    FieldReader in(message);
    into.request = in.take<std::uint64_t>();
    const auto kind = in.take<std::uint32_t>();
    const auto events = in.take<std::uint16_t>();
    const auto robs = in.take<std::uint16_t>();
    if (!in.ok()) return message_too_short("a request for data", message);
    if (kind < 1 || kind > 2)
        return fail(Errc::corrupt, fmt::format("a request for data of the unknown kind {}", kind));
    into.kind = static_cast<RequestKind>(kind);
    WEIR_TRY(take_list(in, "events", events, request_events_max, into.events));
    return take_list(in, "ROBs", robs, request_robs_max, into.robs);
}

Result<> decode(ConstData message, DataView& into) {
    FieldReader in(message);
    into.head.request = in.take<std::uint64_t>();
    into.head.level1_id = Level1Id{in.take<std::uint32_t>()};
    const auto robs = in.take<std::uint32_t>();
    WEIR_TRY(check_count(in, "ROBs", robs, request_robs_max, rob_part_size));
    const auto parts = in.take_bytes(rob_part_size * robs);
    into.head.robs.resize(robs);
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < robs; ++i) {
        auto& rob = into.head.robs[i];
        const auto state = load_little<std::uint32_t>(parts, rob_part_size * i + 8);
        rob.source = SourceId{load_little<std::uint32_t>(parts, rob_part_size * i)};
        rob.size = load_little<std::uint32_t>(parts, rob_part_size * i + 4);
        rob.state = static_cast<RobState>(state);
        if (state > static_cast<std::uint32_t>(RobState::lost) || (rob.state != RobState::here && rob.size != 0))
            return fail(Errc::corrupt,
                        fmt::format("ROB {:#x} has state {} and {} bytes", number(rob.source), state, rob.size));
        size += rob.size;
    }
    into.data = in.rest();
    if (into.data.size() != size)
        return fail(into.data.size() < size ? Errc::truncated : Errc::corrupt,
                    fmt::format("{} ROBs of {} bytes are announced, {} bytes follow", robs, size, into.data.size()));
    return {};
}

Result<> decode(ConstData message, Clear& into) {
    FieldReader in(message);
    into.oldest = Level1Id{in.take<std::uint32_t>()};
    const auto events = in.take<std::uint32_t>();
    return take_list(in, "cleared events", events, clear_events_max, into.events);
}

Result<> decode(ConstData message, Assign& into) {
    FieldReader in(message);
    const auto events = in.take<std::uint32_t>();
    return take_tickets(in, events, into.events);
}

Result<> decode(ConstData message, Built& into) {
    FieldReader in(message);
    into.credit = in.take<std::uint64_t>();
    const auto events = in.take<std::uint32_t>();
    WEIR_TRY(check_count(in, "built events", events, clear_events_max, event_end_size));
    into.events.resize(events);
    for (auto& event : into.events) {
        event.global_id = GlobalEventId{in.take<std::uint64_t>()};
        const auto outcome = in.take<std::uint32_t>();
        if (outcome < 1 || outcome > static_cast<std::uint32_t>(EventOutcome::refused))
            return fail(Errc::corrupt, fmt::format("an event ended with the unknown outcome {}", outcome));
        event.outcome = static_cast<EventOutcome>(outcome);
    }
    return {};
}

Result<> decode(ConstData message, Level2Task& into) {
    FieldReader in(message);
    const auto events = in.take<std::uint32_t>();
    WEIR_TRY(check_count(in, "events", events, tickets_max, level2_event_fixed));
    into.events.resize(events);
    for (auto& event : into.events) {
        WEIR_TRY(take_ticket(in, event.ticket));
        const auto regions = in.take<std::uint32_t>();
        WEIR_TRY(take_list(in, "ROBs of regions", regions, regions_max, event.regions));
    }
    return {};
}

Result<> decode(ConstData message, Level2Decision& into) {
    FieldReader in(message);
    into.credit = in.take<std::uint64_t>();
    const auto events = in.take<std::uint32_t>();
    WEIR_TRY(check_count(in, "decisions", events, clear_events_max, verdict_fixed));
    into.events.resize(events);
    for (auto& verdict : into.events) {
        verdict.global_id = GlobalEventId{in.take<std::uint64_t>()};
        const auto flags = in.take<std::uint16_t>();
        verdict.accepted = (flags & flag_accepted) != 0;
        verdict.forced = (flags & flag_forced_verdict) != 0;
        const auto words = in.take<std::uint16_t>();
        WEIR_TRY(take_list(in, "level-2 words", words, trigger_words_max, verdict.level2_words));
    }
    return {};
}

Result<> decode(ConstData message, Level2Result& into) {
    FieldReader in(message);
    into.global_id = GlobalEventId{in.take<std::uint64_t>()};
    into.level1_id = Level1Id{in.take<std::uint32_t>()};
    const auto size = in.take<std::uint32_t>();
    WEIR_TRY(check_count(in, "bytes of a level-2 result", size, level2_result_max, 1));
    const auto result = in.take_bytes(size);
    into.result.assign(result.begin(), result.end());
    return {};
}

Result<> decode(ConstData message, Accept& into) {
    FieldReader in(message);
    const auto accepted = in.take<std::uint32_t>();
    const auto rejected = in.take<std::uint32_t>();
    WEIR_TRY(take_tickets(in, accepted, into.accepted));
    return take_list(in, "rejected events", rejected, clear_events_max, into.rejected);
}

Result<> decode(ConstData message, AcceptCredit& into) {
    FieldReader in(message);
    into.credit = in.take<std::uint64_t>();
    return in.ok() ? Result<>{} : message_too_short("a credit for accepted events", message);
}

Result<> decode(ConstData message, FragmentSeen& into) {
    FieldReader in(message);
    into.first = in.take<std::uint64_t>();
    into.source = SourceId{in.take<std::uint32_t>()};
    const auto fragments = in.take<std::uint32_t>();
    WEIR_TRY(check_count(in, "fragments", fragments, fragments_seen_max, seen_fragment_size));
    into.fragments.resize(fragments);
    for (auto& fragment : into.fragments) {
        fragment.level1_id = Level1Id{in.take<std::uint32_t>()};
        const auto flags = in.take<std::uint32_t>();
        const auto time = static_cast<std::int64_t>(in.take<std::uint64_t>());
        fragment.time_ns.reset();
        if ((flags & flag_time) != 0) fragment.time_ns = time;
    }
    return {};
}

Result<> decode(ConstData message, Triggers& into) {
    FieldReader in(message);
    const auto triggers = in.take<std::uint32_t>();
    in.take<std::uint32_t>();
    WEIR_TRY(check_count(in, "triggers", triggers, triggers_in_message_max, trigger_notice_size));
    into.triggers.resize(triggers);
    for (auto& trigger : into.triggers) {
        trigger.level1_id = Level1Id{in.take<std::uint32_t>()};
        trigger.type = in.take<std::uint32_t>();
        trigger.time_ns = static_cast<std::int64_t>(in.take<std::uint64_t>());
    }
    return {};
}

Result<> decode(ConstData message, ReadoutBusy& into) {
    FieldReader in(message);
    into.change = in.take<std::uint64_t>();
    const auto busy = in.take<std::uint32_t>();
    const auto cause = in.take<std::uint32_t>();
    into.hold_above = in.take<std::uint32_t>();
    if (!in.ok()) return message_too_short("a readout's busy", message);
    if (busy > 1 || cause > static_cast<std::uint32_t>(BusyCause::memory) || (busy == 1) != (cause != 0))
        return fail(Errc::corrupt, fmt::format("a readout is busy in the unknown way {}, {}", busy, cause));
    into.busy = busy == 1;
    into.cause = static_cast<BusyCause>(cause);
    return {};
}

}  // namespace weir::wire
