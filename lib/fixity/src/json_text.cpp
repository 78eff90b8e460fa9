// SPDX-License-Identifier: Apache-2.0
#include "json_text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace weir::fixity {
namespace {

/// The size of the UTF-8 character at the front of `text`; 0 when there is none.
std::size_t utf8_character(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    const auto second = byte(1);  // not overlong, not a surrogate, not above U+10FFFF
    const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return wrong ? 0 : size;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto size = utf8_character(text);
        if (size == 0) return false;
        text.remove_prefix(size);
    }
    return true;
}

void append_json_string(std::string& to, std::string_view text) {
    to += '"';
    while (!text.empty()) {
        const auto size = utf8_character(text);
        const char c = text.front();
        if (size == 0) {
            fmt::format_to(std::back_inserter(to), "\\\\x{:02x}", static_cast<unsigned char>(c));
        } else if (c == '"' || c == '\\') {
            to += '\\';
            to += c;
        } else if (c == '\n') {
            to += "\\n";
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned char>(c));
        } else {
            to += text.substr(0, size);
        }
        text.remove_prefix(size == 0 ? 1 : size);
    }
    to += '"';
}

}  // namespace weir::fixity
