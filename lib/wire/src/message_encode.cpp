// SPDX-License-Identifier: Apache-2.0
// Values to bytes. Every message is written meta first, behind room for the header, which is filled in
// when the meta is complete.
#include <fmt/format.h>

#include <algorithm>

#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"
#include "weir/wire/message.hpp"

namespace weir::wire {
namespace {

class MessageWriter {
public:
    explicit MessageWriter(std::vector<std::byte>& target) : target_(target), begin_(target.size()) {
        target_.resize(begin_ + frame_header_size);
    }

    template <std::unsigned_integral T>
    void put(T value) {
        const auto at = target_.size();
        target_.resize(at + sizeof(T));
        store_little(target_, at, value);
    }
    void put(std::string_view text) {
        const auto data = as_data(text);
        target_.insert(target_.end(), data.begin(), data.end());
    }
    void put(std::span<const SequenceRange> ranges) {
        for (const auto& [first, last] : ranges) {
            put(number(first));
            put(number(last));
        }
    }

    void finish(MessageType type, std::uint16_t flags = 0, std::uint64_t payload_size = 0) {
        const MutableData message = std::span(target_).subspan(begin_);
        encode_header(message, type, flags, message.subspan(frame_header_size), payload_size);
    }

private:
    std::vector<std::byte>& target_;
    std::size_t begin_;
};

template <class Ranges>
std::span<const SequenceRange> as_many_as_fit(const Ranges& ranges) {
    return std::span<const SequenceRange>(ranges).first(std::min(ranges.size(), message_ranges_max));
}

void put_text(MessageWriter& out, std::string_view text) {
    text = text.substr(0, text_size_max);
    out.put(static_cast<std::uint16_t>(text.size()));
    out.put(text);
}

constexpr std::size_t event_fixed_size = 40;
constexpr std::size_t tag_fixed_size = 8;

}  // namespace

void encode(const Hello& message, std::vector<std::byte>& target) {
    WEIR_ASSERT(valid_sender_name(message.session.sender));
    MessageWriter out(target);
    out.put(message.protocol);
    out.put(static_cast<std::uint8_t>(message.format));
    out.put(static_cast<std::uint8_t>(message.any_run ? hello_any_run : 0));
    out.put(message.session.connection);
    out.put(message.session.incarnation);
    out.put(number(message.session.run));
    out.put(static_cast<std::uint16_t>(message.session.sender.size()));
    out.put(std::uint16_t{0});
    out.put(number(message.oldest_held));
    out.put(message.session.sender);
    out.finish(MessageType::hello);
}

void encode(const Welcome& message, std::vector<std::byte>& target) {
    const auto ranges = as_many_as_fit(message.durable.ranges());
    MessageWriter out(target);
    out.put(message.protocol);
    out.put(std::uint16_t{0});
    out.put(static_cast<std::uint32_t>(ranges.size()));
    out.put(message.credit);
    out.put(message.event_size_max);
    out.put(number(message.durable.cumulative()));
    out.put(ranges);
    const std::string_view name = valid_sender_name(message.recorder) ? std::string_view(message.recorder) : "";
    out.put(number(message.run));
    out.put(message.heartbeat_ms);
    out.put(message.instance);
    out.put(static_cast<std::uint16_t>(name.size()));
    out.put(std::uint16_t{0});
    out.put(name);
    out.finish(MessageType::welcome);
}

void encode(const Ack& message, std::vector<std::byte>& target) {
    const auto ranges = as_many_as_fit(message.ranges);
    MessageWriter out(target);
    out.put(message.credit);
    out.put(number(message.cumulative));
    out.put(static_cast<std::uint32_t>(ranges.size()));
    out.put(std::uint32_t{0});
    out.put(ranges);
    out.finish(MessageType::ack);
}

void encode(const Reject& message, std::vector<std::byte>& target) {
    MessageWriter out(target);
    out.put(number(message.sequence));
    out.put(static_cast<std::uint16_t>(message.reason));
    put_text(out, message.text);
    out.finish(MessageType::reject);
}

void encode(const Bye& message, std::vector<std::byte>& target) {
    MessageWriter out(target);
    out.put(static_cast<std::uint16_t>(message.reason));
    put_text(out, message.text);
    out.finish(MessageType::bye);
}

void encode(const Refused& message, std::vector<std::byte>& target) {
    WEIR_ASSERT(message.records.size() <= refusals_max);
    MessageWriter out(target);
    out.put(number(message.sequence));
    out.put(static_cast<std::uint32_t>(message.records.size()));
    out.put(std::uint32_t{0});
    for (const auto& [record, reason] : message.records) {
        out.put(record);
        out.put(static_cast<std::uint16_t>(reason));
        out.put(std::uint16_t{0});
    }
    out.finish(MessageType::refused);
}

void encode_alive(std::vector<std::byte>& target) { MessageWriter(target).finish(MessageType::alive, flag_optional); }

void encode(const EventMeta& message, std::uint64_t payload_size, std::vector<std::byte>& target) {
    MessageWriter out(target);
    out.put(number(message.sequence));
    out.put(number(message.oldest_held));
    out.put(number(message.global_id));
    out.put(number(message.level1_id));
    out.put(number(message.lumi_block));
    out.put(message.payload_crc);
    out.put(static_cast<std::uint16_t>(message.tags.size()));
    out.put(std::uint16_t{0});
    for (const auto& tag : message.tags) {
        out.put(static_cast<std::uint8_t>(tag.type.size()));
        out.put(static_cast<std::uint8_t>(tag.name.size()));
        out.put(static_cast<std::uint8_t>(tag.obeys_lumi_block ? 1 : 0));
        out.put(std::uint8_t{0});
        out.put(static_cast<std::uint16_t>(tag.robs.size()));
        out.put(static_cast<std::uint16_t>(tag.detectors.size()));
        out.put(tag.type);
        out.put(tag.name);
        for (const auto rob : tag.robs) out.put(number(rob));
        for (const auto detector : tag.detectors) out.put(detector);
    }
    out.finish(MessageType::event, message.sent_elsewhere ? flag_sent_elsewhere : std::uint16_t{0}, payload_size);
}

Result<> event_fits(const EventMeta& meta) {
    if (meta.tags.size() > tags_max)
        return fail(Errc::limit,
                    fmt::format("an event has {} stream tags, {} is the most", meta.tags.size(), tags_max));
    std::size_t size = event_fixed_size;
    for (const auto& tag : meta.tags) {
        if (!valid_stream_type(tag.type) || !valid_stream_name(tag.name))
            return fail(Errc::usage, fmt::format("\"{}_{}\" is not a stream; type and name are 1 to {} letters, digits "
                                                 "and '-'",
                                                 tag.type.substr(0, 80), tag.name.substr(0, 80), stream_word_size_max));
        if (tag.robs.size() > tag_robs_max || tag.detectors.size() > 256)
            return fail(Errc::limit,
                        fmt::format("the tag {} names {} ROBs and {} sub-detectors, {} and 256 are the most",
                                    stream_key(tag), tag.robs.size(), tag.detectors.size(), tag_robs_max));
        size += tag_fixed_size + tag.type.size() + tag.name.size() + 4 * tag.robs.size() + tag.detectors.size();
    }
    if (size > meta_size_max)
        return fail(Errc::limit, fmt::format("the tags of an event take {} bytes, {} is the most; name fewer ROBs",
                                             size, meta_size_max));
    return {};
}

}  // namespace weir::wire
