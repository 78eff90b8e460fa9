// SPDX-License-Identifier: Apache-2.0
#include "one_line.hpp"

#include <fmt/format.h>

namespace weir::service {
namespace {

bool control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string on_one_line(std::string_view text, std::size_t size_max) {
    std::string line;
    for (const char c : text.substr(0, size_max)) {
        if (c == '\n') {
            line += "\\n";
        } else if (c == '\t') {
            line += "\\t";
        } else if (control(c)) {
            line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
            line += c;
        }
    }
    if (text.size() > size_max) line += "...";
    return line;
}

std::string toml_quoted(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (control(c)) {
            quoted += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
        } else {
            quoted += c;
        }
    }
    return quoted += '"';
}

}  // namespace weir::service
