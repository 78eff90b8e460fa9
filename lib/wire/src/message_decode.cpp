// SPDX-License-Identifier: Apache-2.0
// Bytes to values. Every length is checked against the bytes that are there before it is used, and nothing
// is allocated for a number that the bytes do not back.
#include <fmt/format.h>

#include <optional>

#include "field_reader.hpp"
#include "weir/base/endian.hpp"
#include "weir/wire/message.hpp"

namespace weir::wire {
namespace {

std::unexpected<Error> too_short(const char* message, ConstData meta) {
    return fail(Errc::truncated, fmt::format("{} ends before its last field (meta of {} bytes)", message, meta.size()));
}

/// `count` ranges, ascending above `last`.
Result<std::vector<SequenceRange>> take_ranges(FieldReader& in, std::uint32_t count, Sequence last) {
    if (count > message_ranges_max)
        return fail(Errc::corrupt, fmt::format("{} ranges are announced, {} is the most", count, message_ranges_max));
    const auto bytes = in.take_bytes(std::size_t{count} * 16);
    if (!in.ok()) return fail(Errc::truncated, fmt::format("{} ranges are announced and not there", count));
    std::vector<SequenceRange> ranges;
    ranges.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const SequenceRange range{Sequence{load_little<std::uint64_t>(bytes, 16 * i)},
                                  Sequence{load_little<std::uint64_t>(bytes, 16 * i + 8)}};
        if (!valid(range.first) || !valid(range.last) || range.first > range.last || range.first <= last)
            return fail(Errc::corrupt, fmt::format("sequences {} to {} are no range above {}", number(range.first),
                                                   number(range.last), number(last)));
        last = range.last;
        ranges.push_back(range);
    }
    return ranges;
}

Result<Sequence> check_cumulative(std::uint64_t value) {
    if (value > sequence_max) return fail(Errc::corrupt, fmt::format("{} is no sequence", value));
    return Sequence{value};
}

Result<std::string> take_text(FieldReader& in, const char* message, ConstData meta) {
    const auto size = in.take<std::uint16_t>();
    if (size > text_size_max)
        return fail(Errc::corrupt,
                    fmt::format("{} has a text of {} bytes, {} is the most", message, size, text_size_max));
    std::string text(as_text(in.take_bytes(size)));
    if (!in.ok()) return too_short(message, meta);
    for (auto& c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';  // it goes into logs, as one line
    }
    return text;
}

}  // namespace

Result<Hello> decode_hello(ConstData meta) {
    FieldReader in(meta);
    Hello hello;
    hello.protocol = in.take<std::uint16_t>();
    const auto format = in.take<std::uint8_t>();
    const auto flags = in.take<std::uint8_t>();
    hello.session.connection = in.take<std::uint32_t>();
    hello.session.incarnation = in.take<std::uint64_t>();
    hello.session.run = RunNumber{in.take<std::uint32_t>()};
    const auto name_size = in.take<std::uint16_t>();
    in.take<std::uint16_t>();
    hello.oldest_held = Sequence{in.take<std::uint64_t>()};
    const auto sender = as_text(in.take_bytes(name_size));
    if (!in.ok()) return too_short("HELLO", meta);
    hello.any_run = (flags & hello_any_run) != 0;
    if (hello.any_run) hello.session.run = RunNumber{};
    if (!valid_sender_name(sender))
        return fail(Errc::corrupt,
                    fmt::format("HELLO has a sender name of {} bytes that is not 1 to {} letters, digits "
                                "and -_.:",
                                sender.size(), sender_name_size_max));
    if (!valid(hello.oldest_held))
        return fail(Errc::corrupt, fmt::format("HELLO: {} is no sequence", number(hello.oldest_held)));
    const auto known = event_format_from(format);
    if (!known) return fail(Errc::unsupported, fmt::format("HELLO: event format {} is not known", format));
    hello.format = *known;
    hello.session.sender = sender;
    return hello;
}

Result<Welcome> decode_welcome(ConstData meta) {
    FieldReader in(meta);
    Welcome welcome;
    welcome.protocol = in.take<std::uint16_t>();
    in.take<std::uint16_t>();
    const auto count = in.take<std::uint32_t>();
    welcome.credit = in.take<std::uint64_t>();
    welcome.event_size_max = in.take<std::uint64_t>();
    const auto cumulative = check_cumulative(in.take<std::uint64_t>());
    if (!in.ok()) return too_short("WELCOME", meta);
    if (!cumulative) return std::unexpected(cumulative.error());
    if (welcome.protocol < protocol_version_min)
        return fail(Errc::unsupported,
                    fmt::format("WELCOME has protocol version {}; {} is the lowest that is understood",
                                welcome.protocol, protocol_version_min));
    const auto ranges = WEIR_TRY(take_ranges(in, count, *cumulative));
    welcome.run = RunNumber{in.take<std::uint32_t>()};
    welcome.heartbeat_ms = in.take<std::uint32_t>();
    welcome.instance = in.take<std::uint64_t>();
    const auto name_size = in.take<std::uint16_t>();
    in.take<std::uint16_t>();
    const auto recorder = as_text(in.take_bytes(name_size));
    if (!in.ok()) return too_short("WELCOME", meta);
    if (!recorder.empty() && !valid_sender_name(recorder))
        return fail(Errc::corrupt, fmt::format("WELCOME has a recorder's name of {} bytes that is not 1 to {} letters, "
                                               "digits and -_.:",
                                               recorder.size(), sender_name_size_max));
    welcome.recorder = recorder;
    if (*cumulative != Sequence{0}) welcome.durable.insert({Sequence{1}, *cumulative});
    for (const auto& range : ranges) welcome.durable.insert(range);
    return welcome;
}

Result<EventMeta> decode_event(ConstData meta, std::uint16_t flags) {
    WEIR_TRY(decode_event_sequence(meta));
    FieldReader in(meta);
    EventMeta event;
    event.sequence = Sequence{in.take<std::uint64_t>()};
    event.oldest_held = Sequence{in.take<std::uint64_t>()};
    event.global_id = GlobalEventId{in.take<std::uint64_t>()};
    event.level1_id = Level1Id{in.take<std::uint32_t>()};
    event.lumi_block = LumiBlock{in.take<std::uint32_t>()};
    event.payload_crc = in.take<std::uint32_t>();
    const auto tags = in.take<std::uint16_t>();
    in.take<std::uint16_t>();
    event.sent_elsewhere = (flags & flag_sent_elsewhere) != 0;
    if (!in.ok()) return too_short("EVENT", meta);
    // A whole message that exceeds a limit is distinguished from a broken one, so all tags
    // are walked even when they are too many to be kept.
    std::optional<Error> refused;
    if (tags > tags_max)
        refused = Error{Errc::limit, 0, fmt::format("an event has {} stream tags, {} is the most", tags, tags_max)};
    else event.tags.reserve(tags);
    for (std::size_t i = 0; i < tags; ++i) {
        const auto type_size = in.take<std::uint8_t>();
        const auto name_size = in.take<std::uint8_t>();
        const auto tag_flags = in.take<std::uint8_t>();
        in.take<std::uint8_t>();
        const auto robs = in.take<std::uint16_t>();
        const auto detectors = in.take<std::uint16_t>();
        const auto type = as_text(in.take_bytes(type_size));
        const auto name = as_text(in.take_bytes(name_size));
        const auto rob_bytes = in.take_bytes(std::size_t{robs} * 4);
        const auto detector_bytes = in.take_bytes(detectors);
        if (!in.ok()) return too_short("EVENT", meta);
        if (refused) continue;
        if (!valid_stream_type(type) || !valid_stream_name(name)) {
            refused = Error{Errc::limit, 0,
                            fmt::format("stream tag {} has a type or name that is not 1 to {} letters, "
                                        "digits and '-'",
                                        i + 1, stream_word_size_max)};
            continue;
        }
        if (robs > tag_robs_max || detectors > 256) {
            refused = Error{Errc::limit, 0,
                            fmt::format("stream tag {}_{} names {} ROBs and {} sub-detectors, {} and 256 "
                                        "are the most",
                                        type, name, robs, detectors, tag_robs_max)};
            continue;
        }
        auto& tag = event.tags.emplace_back();
        tag.type = type;
        tag.name = name;
        tag.obeys_lumi_block = (tag_flags & 1) != 0;
        tag.robs.reserve(robs);
        for (std::size_t r = 0; r < robs; ++r)
            tag.robs.push_back(SourceId{load_little<std::uint32_t>(rob_bytes, 4 * r)});
        for (const auto detector : detector_bytes) tag.detectors.push_back(static_cast<std::uint8_t>(detector));
    }
    if (refused) return std::unexpected(std::move(*refused));
    return event;
}

Result<Sequence> decode_event_sequence(ConstData meta) {
    FieldReader in(meta);
    const Sequence sequence{in.take<std::uint64_t>()};
    const Sequence oldest{in.take<std::uint64_t>()};
    if (!in.ok()) return too_short("EVENT", meta);
    if (!valid(sequence) || !valid(oldest) || oldest > sequence)
        return fail(Errc::corrupt, fmt::format("EVENT: sequence {} with {} as the oldest held is impossible",
                                               number(sequence), number(oldest)));
    return sequence;
}

Result<Ack> decode_ack(ConstData meta) {
    FieldReader in(meta);
    Ack ack;
    ack.credit = in.take<std::uint64_t>();
    const auto cumulative = check_cumulative(in.take<std::uint64_t>());
    const auto count = in.take<std::uint32_t>();
    in.take<std::uint32_t>();
    if (!in.ok()) return too_short("ACK", meta);
    if (!cumulative) return std::unexpected(cumulative.error());
    ack.cumulative = *cumulative;
    ack.ranges = WEIR_TRY(take_ranges(in, count, *cumulative));
    return ack;
}

Result<Reject> decode_reject(ConstData meta) {
    FieldReader in(meta);
    Reject reject;
    reject.sequence = Sequence{in.take<std::uint64_t>()};
    reject.reason = static_cast<RejectReason>(in.take<std::uint16_t>());
    auto text = WEIR_TRY(take_text(in, "REJECT", meta));
    if (!valid(reject.sequence))
        return fail(Errc::corrupt, fmt::format("REJECT: {} is no sequence", number(reject.sequence)));
    reject.text = std::move(text);
    return reject;
}

Result<Refused> decode_refused(ConstData meta) {
    FieldReader in(meta);
    Refused refused;
    refused.sequence = Sequence{in.take<std::uint64_t>()};
    const std::size_t count = in.take<std::uint32_t>();
    in.take<std::uint32_t>();
    if (count > refusals_max)
        return fail(Errc::corrupt, fmt::format("REFUSED names {} records, {} is the most", count, refusals_max));
    const auto records = in.take_bytes(count * 8);
    if (!in.ok()) return too_short("REFUSED", meta);
    if (!valid(refused.sequence))
        return fail(Errc::corrupt, fmt::format("REFUSED: {} is no sequence", number(refused.sequence)));
    refused.records.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto record = load_little<std::uint32_t>(records, 8 * i);
        if (i > 0 && record <= refused.records.back().record)
            return fail(Errc::corrupt, "REFUSED: its records are not in ascending order");
        refused.records.push_back({record, static_cast<RefuseReason>(load_little<std::uint16_t>(records, 8 * i + 4))});
    }
    return refused;
}

Result<Bye> decode_bye(ConstData meta) {
    FieldReader in(meta);
    Bye bye;
    bye.reason = static_cast<ByeReason>(in.take<std::uint16_t>());
    bye.text = WEIR_TRY(take_text(in, "BYE", meta));
    return bye;
}

}  // namespace weir::wire
