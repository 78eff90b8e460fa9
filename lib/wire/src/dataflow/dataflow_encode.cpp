// SPDX-License-Identifier: Apache-2.0
// The messages of the dataflow to bytes. More than the limits allow is our own mistake.
#include <algorithm>
#include <limits>

#include "dataflow/dataflow_layout.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::wire {
namespace {

/// Appends fields. Room for the fixed part of a message is made at once.
class FieldWriter {
public:
    explicit FieldWriter(std::vector<std::byte>& target) noexcept : target_(target) {}

    template <std::unsigned_integral T>
    void put(T value) {
        const auto at = target_.size();
        target_.resize(at + sizeof(T));
        store_little(target_, at, value);
    }
    void put(ConstData data) { target_.insert(target_.end(), data.begin(), data.end()); }

    /// 32 bits each.
    template <class Word>
    void put_all(const std::vector<Word>& words) {
        auto at = target_.size();
        target_.resize(at + 4 * words.size());
        for (const auto word : words) {
            if constexpr (std::is_enum_v<Word>) store_little(target_, at, number(word));
            else store_little(target_, at, word);
            at += 4;
        }
    }

private:
    std::vector<std::byte>& target_;
};

template <class T>
std::uint16_t short_count(const std::vector<T>& list, std::size_t most) {
    WEIR_ASSERT(list.size() <= most);
    return static_cast<std::uint16_t>(list.size());
}
template <class T>
std::uint32_t count(const std::vector<T>& list, std::size_t most) {
    WEIR_ASSERT(list.size() <= most);
    return static_cast<std::uint32_t>(list.size());
}

constexpr std::int64_t age_max = std::numeric_limits<std::uint32_t>::max();

void put_ticket(FieldWriter& out, const EventTicket& ticket) {
    out.put(number(ticket.global_id));
    out.put(number(ticket.level1_id));
    out.put(number(ticket.lumi_block));
    out.put(ticket.bunch_crossing_id);
    out.put(ticket.trigger_type);
    out.put(ticket.seconds);
    out.put(ticket.nanoseconds);
    out.put(static_cast<std::uint16_t>((ticket.reassigned ? flag_reassigned : 0) |
                                       (ticket.forced ? flag_forced_ticket : 0)));
    out.put(short_count(ticket.level1_words, trigger_words_max));
    out.put(short_count(ticket.level2_words, trigger_words_max));
    out.put(std::uint16_t{0});
    out.put(static_cast<std::uint32_t>(std::clamp<std::int64_t>(ticket.age.count(), 0, age_max)));
    out.put(ticket.detector_shift);
    out.put_all(ticket.level1_words);
    out.put_all(ticket.level2_words);
}

}  // namespace

void encode(const DataRequest& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(message.request);
    out.put(static_cast<std::uint32_t>(message.kind));
    out.put(short_count(message.events, request_events_max));
    out.put(short_count(message.robs, request_robs_max));
    out.put_all(message.events);
    out.put_all(message.robs);
}

void encode(const DataHead& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(message.request);
    out.put(number(message.level1_id));
    out.put(count(message.robs, request_robs_max));
    for (const auto& rob : message.robs) {
        WEIR_ASSERT(rob.state == RobState::here || rob.size == 0);
        out.put(number(rob.source));
        out.put(rob.size);
        out.put(static_cast<std::uint32_t>(rob.state));
    }
}

void encode(const Clear& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(number(message.oldest));
    out.put(count(message.events, clear_events_max));
    out.put_all(message.events);
}

void encode(const Assign& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(count(message.events, tickets_max));
    for (const auto& ticket : message.events) put_ticket(out, ticket);
}

void encode(const Built& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(message.credit);
    out.put(count(message.events, clear_events_max));
    for (const auto& event : message.events) {
        out.put(number(event.global_id));
        out.put(static_cast<std::uint32_t>(event.outcome));
    }
}

void encode(const Level2Task& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(count(message.events, tickets_max));
    for (const auto& event : message.events) {
        put_ticket(out, event.ticket);
        out.put(count(event.regions, regions_max));
        out.put_all(event.regions);
    }
}

void encode(const Level2Decision& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(message.credit);
    out.put(count(message.events, clear_events_max));
    for (const auto& verdict : message.events) {
        out.put(number(verdict.global_id));
        out.put(static_cast<std::uint16_t>((verdict.accepted ? flag_accepted : 0) |
                                           (verdict.forced ? flag_forced_verdict : 0)));
        out.put(short_count(verdict.level2_words, trigger_words_max));
        out.put_all(verdict.level2_words);
    }
}

void encode(const Level2Result& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(number(message.global_id));
    out.put(number(message.level1_id));
    out.put(count(message.result, level2_result_max));
    out.put(ConstData(message.result));
}

void encode(const Accept& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(count(message.accepted, tickets_max));
    out.put(count(message.rejected, clear_events_max));
    for (const auto& ticket : message.accepted) put_ticket(out, ticket);
    out.put_all(message.rejected);
}

void encode(const AcceptCredit& message, std::vector<std::byte>& to) { FieldWriter(to).put(message.credit); }

void encode(const FragmentSeen& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(message.first);
    out.put(number(message.source));
    out.put(count(message.fragments, fragments_seen_max));
    for (const auto& fragment : message.fragments) {
        out.put(number(fragment.level1_id));
        out.put(fragment.time_ns ? flag_time : std::uint32_t{0});
        out.put(static_cast<std::uint64_t>(fragment.time_ns.value_or(0)));
    }
}

void encode(const Triggers& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(count(message.triggers, triggers_in_message_max));
    out.put(std::uint32_t{0});
    for (const auto& trigger : message.triggers) {
        out.put(number(trigger.level1_id));
        out.put(trigger.type);
        out.put(static_cast<std::uint64_t>(trigger.time_ns));
    }
}

void encode(const ReadoutBusy& message, std::vector<std::byte>& to) {
    FieldWriter out(to);
    out.put(message.change);
    out.put(std::uint32_t{message.busy ? 1U : 0U});
    out.put(static_cast<std::uint32_t>(message.cause));
    out.put(message.hold_above);
}

}  // namespace weir::wire
