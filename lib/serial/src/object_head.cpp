// SPDX-License-Identifier: Apache-2.0
#include "weir/serial/object_head.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "weir/base/endian.hpp"
#include "weir/serial/wire_size.hpp"

namespace weir::serial {
namespace {

constexpr std::size_t word = 4;

/// The name that follows a tag; nothing when no zero byte ends it.
std::optional<std::string_view> name_at(ConstData buffer, std::size_t position) {
    const auto text = as_text(buffer.subspan(position));
    const auto end = text.find('\0');
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    return text.substr(0, end);
}

}  // namespace

Result<ObjectHead> object_head(ConstData buffer, std::size_t position) {
    const auto no = [&](Errc code, std::string_view why) {
        return fail(code, fmt::format("ROOT buffer, offset {}: looking for an object: {}", position, why));
    };
    if (position > buffer.size() || buffer.size() - position < 2 * word)
        return no(Errc::truncated, "the data end before its head does");
    const auto count = load_big<std::uint32_t>(buffer, position);
    if (count >> 30 != 1) return no(Errc::unsupported, fmt::format("here is no byte count but {:#010x}", count));
    const std::size_t size = word + (count & ~byte_count_flag);
    if (size > buffer.size() - position)
        return no(Errc::truncated, fmt::format("it has {} bytes, {} are here", size, buffer.size() - position));
    const auto whole = buffer.first(position + size);
    if (size < 2 * word) return no(Errc::corrupt, "it is too small to have a class");
    auto tag = load_big<std::uint32_t>(whole, position + word);
    auto named = position + 2 * word;
    if (tag != new_class_tag) {
        // A class that was named before: the offset of its tag and 2.
        const std::size_t at = tag & ~class_flag;
        if ((tag & class_flag) == 0 || at < reference_offset || at - reference_offset > position ||
            load_big<std::uint32_t>(whole, at - reference_offset) != new_class_tag)
            return no(Errc::corrupt, "neither a class nor a reference to one follows the byte count");
        named = at - reference_offset + word;
    }
    const auto name = name_at(whole, named);
    if (!name) return no(Errc::corrupt, "the name of its class does not end, or is empty");
    return ObjectHead{*name, size};
}

bool holds_one_object(ConstData buffer) noexcept {
    if (buffer.size() < 2 * word || load_big<std::uint32_t>(buffer, word) != new_class_tag) return false;
    const auto count = load_big<std::uint32_t>(buffer);
    return count >> 30 == 1 && (count & ~byte_count_flag) == buffer.size() - word &&
           name_at(buffer, 2 * word).has_value();
}

}  // namespace weir::serial
