// SPDX-License-Identifier: Apache-2.0
#include "weir/event/event_builder.hpp"

#include <limits>
#include <optional>

#include "fault.hpp"
#include "weir/event/compression.hpp"
#include "weir/event/stream_tags.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

constexpr std::uint32_t no_value = 0;  // of a word that is set once it is known

std::unexpected<Error> wrong(Errc code, std::string_view reason) {
    return fail(code, fmt::format("building an event: {}", reason));
}

Result<> check_fields(const EventFields& f) {
    if (f.format == Format::opaque)
        return wrong(Errc::unsupported, "opaque events have no fragments; choose event-5.0 or event-3.0");
    if (f.checksum != ChecksumType::none && f.checksum != ChecksumType::adler32)
        return wrong(Errc::unsupported, fmt::format("checksum type {} is not made; choose 0 or 2 (adler32)",
                                                    static_cast<std::uint32_t>(f.checksum)));
    if (f.ids.time.nanoseconds >= 1'000'000'000)
        return wrong(Errc::usage, fmt::format("{} nanoseconds are more than a second", f.ids.time.nanoseconds));
    if (f.format == Format::event_5_0) return {};

    if (f.checksum != ChecksumType::none || f.compression != Compression::none)
        return wrong(Errc::unsupported, "event-3.0 has neither checksum nor compression");
    if (!f.tags.empty() || !f.level2_words.empty() || !f.filter_words.empty())
        return wrong(Errc::unsupported, "event-3.0 has neither stream tags nor level-2 or filter words");
    if (f.level1_words.size() > 4)
        return wrong(Errc::usage, fmt::format("event-3.0 has four trigger words, not {}", f.level1_words.size()));
    if (number(f.ids.global_id) > std::numeric_limits<std::uint32_t>::max())
        return wrong(Errc::usage,
                     fmt::format("global id {} does not fit the 32 bits of event-3.0", number(f.ids.global_id)));
    return {};
}

Result<> check_robs(const EventFields& f, std::span<const ConstData> robs) {
    for (std::size_t i = 0; i < robs.size(); ++i) {
        auto rob = FragmentView::parse(robs[i], Level::rob, f.format);
        if (!rob) return fail(rob.error().code, fmt::format("building an event: ROB {}: {}", i, rob.error().context));
        if (rob->bytes().size() != robs[i].size())
            return wrong(Errc::corrupt, fmt::format("ROB {} has {} bytes where {} were given", i, rob->bytes().size(),
                                                    robs[i].size()));
    }
    return {};
}

/// Common header up to its specific words; the sizes are set once they are known.
void open_header(std::vector<std::byte>& header, std::uint32_t marker, std::uint32_t version, SourceId source,
                 std::span<const std::uint32_t> status, std::uint32_t last_common) {
    append_word(header, marker);
    append_word(header, no_value);
    append_word(header, no_value);
    append_word(header, version << 16);
    append_word(header, number(source));
    append_word(header, static_cast<std::uint32_t>(status.size()));
    for (const auto value : status) append_word(header, value);
    append_word(header, last_common);
}

void append_list(std::vector<std::byte>& header, std::span<const std::uint32_t> words) {
    append_word(header, static_cast<std::uint32_t>(words.size()));
    for (const auto value : words) append_word(header, value);
}

std::vector<std::byte> header_5_0(const EventFields& f, ConstData tag_words, std::size_t payload_size) {
    std::vector<std::byte> header;
    open_header(header, event_marker, version_5_0, f.source, f.status, static_cast<std::uint32_t>(f.checksum));
    append_word(header, f.ids.time.seconds);
    append_word(header, f.ids.time.nanoseconds);
    append_word(header, static_cast<std::uint32_t>(number(f.ids.global_id)));
    append_word(header, static_cast<std::uint32_t>(number(f.ids.global_id) >> 32));
    append_word(header, f.run_type);
    append_word(header, number(f.ids.run));
    append_word(header, number(f.ids.lumi_block));
    append_word(header, number(f.ids.level1_id));
    append_word(header, f.bunch_crossing_id);
    append_word(header, f.trigger_type);
    append_word(header, static_cast<std::uint32_t>(f.compression));
    append_word(header, static_cast<std::uint32_t>(payload_size / word_bytes));
    append_list(header, f.level1_words);
    append_list(header, f.level2_words);
    append_list(header, f.filter_words);
    append_word(header, static_cast<std::uint32_t>(tag_words.size() / word_bytes));
    append(header, tag_words);
    set_word(header, 2, static_cast<std::uint32_t>(header.size() / word_bytes));
    return header;
}

std::vector<std::byte> header_3_0(const EventFields& f) {
    std::vector<std::byte> header;
    open_header(header, event_marker, version_3_0, f.source, f.status, event_3_0_specific_words);
    append_word(header, f.ids.time.seconds);
    append_word(header, static_cast<std::uint32_t>(number(f.ids.global_id)));
    append_word(header, number(f.ids.run));
    append_word(header, number(f.ids.level1_id));
    append_word(header, 0);
    append_word(header, 0);
    for (std::size_t i = 0; i < 4; ++i) append_word(header, i < f.level1_words.size() ? f.level1_words[i] : 0);
    set_word(header, 2, static_cast<std::uint32_t>(header.size() / word_bytes));
    return header;
}

std::vector<std::byte> parent_header(std::uint32_t marker, SourceId source, std::span<const std::uint32_t> specific) {
    static constexpr std::uint32_t no_status[] = {0};
    std::vector<std::byte> header;
    open_header(header, marker, version_3_0, source, no_status, static_cast<std::uint32_t>(specific.size()));
    for (const auto value : specific) append_word(header, value);
    set_word(header, 2, static_cast<std::uint32_t>(header.size() / word_bytes));
    return header;
}

/// Each run of ROBs of one sub-detector inside one sub-detector fragment with one ROS fragment.
void put_nested(const EventFields& f, std::span<const ConstData> robs, EventPieces& into) {
    const std::uint32_t ros_words[] = {number(f.ids.run), number(f.ids.level1_id), f.bunch_crossing_id};
    static constexpr std::uint32_t subdetector_words[] = {0};
    const auto detector = [](ConstData rob) { return word(rob, 4) >> 16 & 0xff; };
    for (std::size_t first = 0; first < robs.size();) {
        std::size_t size = 0;
        auto last = first;
        for (; last < robs.size() && detector(robs[last]) == detector(robs[first]); ++last) size += robs[last].size();
        const SourceId source{detector(robs[first]) << 16};
        auto ros = parent_header(ros_marker, source, ros_words);
        auto subdetector = parent_header(subdetector_marker, source, subdetector_words);
        set_word(ros, 1, static_cast<std::uint32_t>((ros.size() + size) / word_bytes));
        set_word(subdetector, 1, static_cast<std::uint32_t>((subdetector.size() + ros.size() + size) / word_bytes));
        into.make(subdetector);
        into.make(ros);
        for (; first < last; ++first) into.refer(robs[first]);
    }
}

}  // namespace

Result<> assemble_event(const EventFields& fields, std::span<const ConstData> robs, EventPieces& into) {
    into.clear();
    WEIR_TRY(check_fields(fields));
    WEIR_TRY(check_robs(fields, robs));
    std::uint64_t payload_size = 0;
    for (const auto rob : robs) payload_size += rob.size();

    std::size_t header_size = 0;
    if (fields.format == Format::event_3_0) {
        const auto header = header_3_0(fields);
        header_size = header.size();
        into.make(header);
        put_nested(fields, robs, into);
    } else {
        auto tag_words = WEIR_TRY(encode_stream_tags(fields.tags));
        const auto header = header_5_0(fields, tag_words, payload_size);
        header_size = header.size();
        into.make(header);
        if (fields.compression == Compression::zlib) {
            std::vector<std::byte> payload;
            payload.reserve(payload_size);
            for (const auto rob : robs) append(payload, rob);
            auto packed = WEIR_TRY(compress_payload(payload));
            into.make(packed);
        } else {
            for (const auto rob : robs) into.refer(rob);
        }
        if (fields.checksum == ChecksumType::adler32) into.make_word(into.adler32_from(header_size));
    }
    if (into.size() / word_bytes > std::numeric_limits<std::uint32_t>::max())
        return wrong(Errc::limit, fmt::format("{} bytes do not fit the size word", into.size()));
    into.set_made_word(word_bytes, static_cast<std::uint32_t>(into.size() / word_bytes));
    return {};
}

Result<std::vector<std::byte>> build_event(const EventFields& fields, std::span<const ConstData> robs) {
    EventPieces pieces;
    WEIR_TRY(assemble_event(fields, robs, pieces));
    return pieces.to_bytes();
}

}  // namespace weir::event
