// SPDX-License-Identifier: Apache-2.0
// Names of formats, reasons and sessions: what people read in logs, tables and metrics.
#include <fmt/format.h>

#include <algorithm>

#include "weir/wire/event_format.hpp"
#include "weir/wire/reject_reason.hpp"
#include "weir/wire/session.hpp"

namespace weir::wire {

const char* name(EventFormat format) noexcept {
    switch (format) {
        case EventFormat::event_5_0: return "event-5.0";
        case EventFormat::event_3_0: return "event-3.0";
        case EventFormat::opaque: return "opaque";
        case EventFormat::fragments: return "fragments";
        case EventFormat::triggers: return "triggers";
    }
    return "unknown";
}

std::optional<EventFormat> parse_event_format(std::string_view text) noexcept {
    for (const auto format : {EventFormat::event_5_0, EventFormat::event_3_0, EventFormat::opaque}) {
        if (text == name(format)) return format;
    }
    return std::nullopt;
}

std::optional<EventFormat> event_format_from(std::uint8_t number) noexcept {
    if (number < 1 || number > 5) return std::nullopt;
    return static_cast<EventFormat>(number);
}

const char* name(RejectReason reason) noexcept {
    switch (reason) {
        case RejectReason::duplicate: return "duplicate";
        case RejectReason::corrupt_payload: return "corrupt_payload";
        case RejectReason::malformed_event: return "malformed_event";
        case RejectReason::too_large: return "too_large";
        case RejectReason::no_tags: return "no_tags";
        case RejectReason::bad_tag: return "bad_tag";
        case RejectReason::streams_exceeded: return "streams_exceeded";
        case RejectReason::format_mismatch: return "format_mismatch";
        case RejectReason::wrong_run: return "wrong_run";
        case RejectReason::run_closed: return "run_closed";
        case RejectReason::stopping: return "stopping";
        case RejectReason::late: return "late";
        case RejectReason::cannot_cut: return "cannot_cut";
        case RejectReason::other: return "other";
        case RejectReason::not_selected: return "not_selected";
    }
    return "unknown";
}

const char* name(RefuseReason reason) noexcept {
    switch (reason) {
        case RefuseReason::malformed: return "malformed";
        case RefuseReason::unknown_source: return "unknown_source";
        case RefuseReason::duplicate: return "duplicate";
        case RefuseReason::late: return "late";
        case RefuseReason::level1_mismatch: return "level1_mismatch";
        case RefuseReason::too_large: return "too_large";
        case RefuseReason::no_level1_id: return "no_level1_id";
        case RefuseReason::no_time: return "no_time";
        case RefuseReason::masked: return "masked";
        case RefuseReason::out_of_order: return "out_of_order";
        case RefuseReason::stopping: return "stopping";
        case RefuseReason::full: return "full";
        case RefuseReason::too_far_ahead: return "too_far_ahead";
        case RefuseReason::other: return "other";
    }
    return "unknown";
}

const char* name(ByeReason reason) noexcept {
    switch (reason) {
        case ByeReason::finished: return "finished";
        case ByeReason::stopping: return "stopping";
        case ByeReason::malformed: return "malformed";
        case ByeReason::unsupported_version: return "unsupported_version";
        case ByeReason::too_slow: return "too_slow";
        case ByeReason::too_many_connections: return "too_many_connections";
        case ByeReason::replaced: return "replaced";
        case ByeReason::wrong_run: return "wrong_run";
        case ByeReason::run_closed: return "run_closed";
        case ByeReason::format_mismatch: return "format_mismatch";
        case ByeReason::limit: return "limit";
        case ByeReason::send_again: return "send_again";
        case ByeReason::not_allowed: return "not_allowed";
    }
    return "unknown";
}

std::size_t SessionKeyHash::operator()(const SessionKey& key) const noexcept {
    auto mix = [seed = std::hash<std::string>{}(key.sender)](std::uint64_t value) mutable {
        return seed = (seed ^ value) * 0x9E3779B97F4A7C15U;
    };
    mix(key.incarnation);
    mix(key.connection);
    return mix(number(key.run));
}

bool valid_sender_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= sender_name_size_max && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.' || c == ':';
    });
}

std::string to_string(const SessionKey& key) {
    // A program that has the incarnation can act for the session, so logs show only as much of it as distinguishes two.
    const auto mark = static_cast<std::uint16_t>((key.incarnation * 0x9E3779B97F4A7C15U) >> 48);
    return fmt::format("{}/#{:04x}/{} run {}", key.sender, mark, key.connection, number(key.run));
}

}  // namespace weir::wire
