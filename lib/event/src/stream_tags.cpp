// SPDX-License-Identifier: Apache-2.0
#include "weir/event/stream_tags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>

#include "weir/event/markers.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

constexpr std::string_view robs_key = "robs:";
constexpr std::string_view detectors_key = "detectors:";

/// Cuts the first part off `text`, up to `mark` or its end.
std::string_view take(std::string_view& text, char mark) {
    const auto cut = text.find(mark);
    const auto part = text.substr(0, cut);
    text = cut == text.npos ? std::string_view{} : text.substr(cut + 1);
    return part;
}

template <class Number>
std::optional<Number> read_hex(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::unexpected<Error> unknown(std::string_view part) {
    std::string shown;
    for (const char c : part.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '?';
    return fail(Errc::unsupported, fmt::format("stream tag in the event header: \"{}\" is not written as we write it "
                                               "(name type yes|no [robs:HEX,...] [detectors:HEX,...])",
                                               shown));
}

Result<StreamTag> decode_one(std::string_view text) {
    StreamTag tag;
    const auto whole = text;
    tag.name = take(text, ' ');
    tag.type = take(text, ' ');
    const auto obeys = take(text, ' ');
    if (!valid_stream_name(tag.name) || !valid_stream_type(tag.type) || (obeys != "yes" && obeys != "no"))
        return unknown(whole);
    tag.obeys_lumi_block = obeys == "yes";
    while (!text.empty()) {
        auto part = take(text, ' ');
        const bool robs = part.starts_with(robs_key);
        if (!robs && !part.starts_with(detectors_key)) return unknown(part);
        if (robs ? !tag.robs.empty() : !tag.detectors.empty()) return unknown(whole);  // stated twice
        part.remove_prefix(robs ? robs_key.size() : detectors_key.size());
        if (part.empty() || part.back() == ',') return unknown(whole);
        while (!part.empty()) {
            if (tag.robs.size() + tag.detectors.size() >= stream_tag_sources_max)
                return fail(Errc::limit, fmt::format("stream tag {} in the event header names more than {} sources",
                                                     stream_key(tag), stream_tag_sources_max));
            const auto number = take(part, ',');
            if (robs) {
                const auto rob = read_hex<std::uint32_t>(number);
                if (!rob) return unknown(number);
                tag.robs.push_back(SourceId{*rob});
            } else {
                const auto detector = read_hex<std::uint8_t>(number);
                if (!detector) return unknown(number);
                tag.detectors.push_back(*detector);
            }
        }
    }
    return tag;
}

}  // namespace

Result<std::vector<std::byte>> encode_stream_tags(std::span<const StreamTag> tags) {
    if (tags.size() > stream_tags_max)
        return fail(Errc::limit,
                    fmt::format("an event carries {} stream tags; at most {} fit", tags.size(), stream_tags_max));
    std::vector<std::byte> words;
    for (const auto& tag : tags) {
        if (!valid_stream_type(tag.type) || !valid_stream_name(tag.name))
            return fail(Errc::usage,
                        fmt::format("stream tag \"{}\": type and name are 1 to {} letters, digits, '-' and "
                                    "(name only) '_'",
                                    stream_key(tag), stream_word_size_max));
        if (tag.robs.size() + tag.detectors.size() > stream_tag_sources_max)
            return fail(Errc::limit, fmt::format("stream tag {} names {} sources; at most {} fit", stream_key(tag),
                                                 tag.robs.size() + tag.detectors.size(), stream_tag_sources_max));
        std::string text = fmt::format("{} {} {}", tag.name, tag.type, tag.obeys_lumi_block ? "yes" : "no");
        for (std::size_t i = 0; i < tag.robs.size(); ++i)
            fmt::format_to(std::back_inserter(text), "{}{:x}", i == 0 ? " robs:" : ",", number(tag.robs[i]));
        for (std::size_t i = 0; i < tag.detectors.size(); ++i)
            fmt::format_to(std::back_inserter(text), "{}{:x}", i == 0 ? " detectors:" : ",", tag.detectors[i]);
        append(words, as_data(text));
        words.resize((words.size() / word_bytes + 1) * word_bytes);  // at least one NUL
    }
    return words;
}

Result<std::vector<StreamTag>> decode_stream_tags(ConstData words) {
    auto text = as_text(words);
    std::vector<StreamTag> tags;
    while (!text.empty()) {
        const auto end = text.find('\0');
        if (end == text.npos)
            return fail(Errc::truncated, "stream tags in the event header: the last one does not end with NUL");
        if (tags.size() == stream_tags_max)
            return fail(Errc::limit, fmt::format("stream tags in the event header: more than {}", stream_tags_max));
        auto tag = WEIR_TRY(decode_one(text.substr(0, end)));
        tags.push_back(std::move(tag));
        text.remove_prefix(std::min(text.size(), (end / word_bytes + 1) * word_bytes));
    }
    return tags;
}

}  // namespace weir::event
