// SPDX-License-Identifier: Apache-2.0
#include "weir/base/stream_tag.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

bool letter_or_digit(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool StreamTag::wants(SourceId rob) const noexcept {
    if (!partial()) return true;
    const auto detector = static_cast<std::uint8_t>(number(rob) >> 16);
    return std::ranges::find(robs, rob) != robs.end() || std::ranges::find(detectors, detector) != detectors.end();
}

std::string stream_key(const StreamTag& tag) { return fmt::format("{}_{}", tag.type, tag.name); }

bool valid_stream_type(std::string_view text) noexcept {
    return !text.empty() && text.size() <= stream_word_size_max &&
           std::ranges::all_of(text, [](char c) { return letter_or_digit(c) || c == '-'; });
}

bool valid_stream_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= stream_word_size_max &&
           std::ranges::all_of(text, [](char c) { return letter_or_digit(c) || c == '-' || c == '_'; });
}

Result<StreamTag> parse_stream_key(std::string_view text) {
    const auto cut = text.find('_');
    if (cut != text.npos && valid_stream_type(text.substr(0, cut)) && valid_stream_name(text.substr(cut + 1))) {
        StreamTag tag;
        tag.type = text.substr(0, cut);
        tag.name = text.substr(cut + 1);
        return tag;
    }
    return fail(Errc::usage, fmt::format("\"{}\" is not a stream; write type_name of letters, digits and '-', "
                                         "for example physics_Main",
                                         text));
}

}  // namespace weir
