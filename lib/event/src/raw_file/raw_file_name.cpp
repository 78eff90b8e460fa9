// SPDX-License-Identifier: Apache-2.0
#include "weir/event/raw_file_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace weir::event {
namespace {

constexpr std::size_t name_size_max = 255;  // what file systems allow

/// The decimal number at the front of `text`, which is taken off.
std::optional<std::uint32_t> take_number(std::string_view& text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

/// "_lb0083" with prefix "_lb" is 83.
std::optional<std::uint32_t> number_after(std::string_view prefix, std::string_view text) {
    if (!text.starts_with(prefix)) return std::nullopt;
    text.remove_prefix(prefix.size());
    const auto value = take_number(text);
    return text.empty() ? value : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, std::size_t parts_max) {
    std::vector<std::string_view> parts;
    while (parts.size() + 1 < parts_max) {
        const auto dot = text.find('.');
        if (dot == text.npos) break;
        parts.push_back(text.substr(0, dot));
        text.remove_prefix(dot + 1);
    }
    parts.push_back(text);
    return parts;
}

}  // namespace

bool valid_name_part(std::string_view text) noexcept { return valid_stream_name(text); }

std::string RawFileName::core() const {
    return fmt::format("{}.{:08}.{}_{}.{}.RAW._lb{:04}._{}", project, number(run), stream_type, stream_name, step,
                       number(lumi_block), application);
}

std::string RawFileName::file(FileState state) const {
    return fmt::format("{}._{:04}.{}", core(), sequence, state == FileState::writing ? "writing" : "data");
}

Result<> RawFileName::check() const {
    const auto bad = [](std::string_view what, std::string_view text) {
        return fail(Errc::usage,
                    fmt::format("raw file name: {} \"{}\" cannot stand in it; use 1 to {} letters, digits, '-' "
                                "and '_'",
                                what, text, stream_word_size_max));
    };
    if (!valid_name_part(project)) return bad("project", project);
    if (!valid_stream_type(stream_type)) return bad("stream type", stream_type);
    if (!valid_stream_name(stream_name)) return bad("stream name", stream_name);
    if (!valid_name_part(step)) return bad("step", step);
    if (!valid_name_part(application)) return bad("application", application);
    if (const auto size = file(FileState::writing).size(); size > name_size_max)
        return fail(Errc::usage,
                    fmt::format("raw file name: {} characters, more than the {} of a file name; shorten project, "
                                "stream or application",
                                size, name_size_max));
    return {};
}

Result<ParsedRawFileName> parse_raw_file_name(std::string_view name) {
    const auto wrong = [name](std::string_view reason) {
        std::string shown;
        for (const char c : name.substr(0, name_size_max)) shown += c >= ' ' && c <= '~' ? c : '?';
        return fail(Errc::corrupt, fmt::format("raw file name \"{}\": {}", shown, reason));
    };
    if (name.size() > name_size_max) return wrong("too long");
    const auto parts = split(name, 8);
    if (parts.size() < 7) return wrong("has fewer than seven parts between dots");
    if (parts[4] != "RAW") return wrong("its fifth part is not RAW");
    const auto run = number_after("", parts[1]);
    auto stream = parse_stream_key(parts[2]);
    const auto lumi_block = number_after("_lb", parts[5]);
    if (!valid_name_part(parts[0])) return wrong("no project before the first dot");
    if (!run) return wrong("its second part is not a run number");
    if (!stream) return wrong("its third part is not a stream (type_name)");
    if (!valid_name_part(parts[3])) return wrong("its fourth part is not a processing step");
    if (!lumi_block) return wrong("its sixth part is not a lumi block (_lb0001)");
    if (!parts[6].starts_with('_') || !valid_name_part(parts[6].substr(1)))
        return wrong("its seventh part is not an application (_SFO-1)");

    ParsedRawFileName parsed;
    parsed.name = {.project = std::string(parts[0]),
                   .run = RunNumber{*run},
                   .stream_type = std::move(stream->type),
                   .stream_name = std::move(stream->name),
                   .step = std::string(parts[3]),
                   .lumi_block = LumiBlock{*lumi_block},
                   .application = std::string(parts[6].substr(1)),
                   .sequence = 0};
    if (parts.size() == 7) return parsed;  // the core of a name
    auto tail = parts[7];
    if (!tail.starts_with('_')) return wrong("its eighth part is not a sequence number (_0001)");
    tail.remove_prefix(1);
    const auto sequence = take_number(tail);
    if (!sequence) return wrong("its eighth part is not a sequence number (_0001)");
    parsed.name.sequence = *sequence;
    parsed.rest = tail;
    return parsed;
}

}  // namespace weir::event
