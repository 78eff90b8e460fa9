// SPDX-License-Identifier: Apache-2.0
#include "manifest/json_text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "weir/base/utf8.hpp"

namespace weir::fixity {

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto size = utf8_length(text);
        if (size == 0) return false;
        text.remove_prefix(size);
    }
    return true;
}

void append_json_string(std::string& to, std::string_view text) {
    to += '"';
    while (!text.empty()) {
        const auto size = utf8_length(text);
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
