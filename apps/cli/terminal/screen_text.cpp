// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/screen_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "weir/base/utf8.hpp"

namespace weir::app {
namespace {

struct CodeRange {
    char32_t first, last;
    std::size_t columns;
};

// A list of what is shown, not of what is not: Unicode grows, and a character that this list does not know is written
// as its number. Left to right only, no combining characters, no characters that are narrow here and wide there.
constexpr std::array shown_ranges{
    CodeRange{0x20, 0x7e, 1},     CodeRange{0xa1, 0xac, 1},     CodeRange{0xae, 0x2ff, 1},
    CodeRange{0x370, 0x482, 1},   CodeRange{0x48a, 0x52f, 1},   CodeRange{0x1e00, 0x1fff, 1},
    CodeRange{0x2010, 0x2027, 1}, CodeRange{0x2030, 0x205e, 1}, CodeRange{0x2070, 0x20bf, 1},
    CodeRange{0x2100, 0x2319, 1}, CodeRange{0x2500, 0x25fc, 1}, CodeRange{0x3041, 0x3096, 2},
    CodeRange{0x309b, 0x30ff, 2}, CodeRange{0x3400, 0x4dbf, 2}, CodeRange{0x4e00, 0x9fff, 2},
    CodeRange{0xac00, 0xd7a3, 2}, CodeRange{0xff01, 0xff60, 2},
};

/// 0: not shown.
std::size_t columns_of(char32_t code) {
    const auto* const found = std::ranges::find_if(
        shown_ranges, [code](const CodeRange& range) { return code >= range.first && code <= range.last; });
    return found == shown_ranges.end() ? 0 : found->columns;
}

/// Of a well-formed character of `size` bytes.
char32_t code_of(std::string_view text, std::size_t size) {
    constexpr std::array<unsigned, 5> masks{0, 0x7f, 0x1f, 0x0f, 0x07};
    char32_t code = static_cast<unsigned char>(text[0]) & masks[size];
    for (std::size_t i = 1; i < size; ++i) code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
    return code;
}

/// A character as it is shown, and what of the text it was.
struct Shown {
    std::string text;
    std::size_t columns = 0;
    std::size_t bytes = 0;
};

Shown first_shown(std::string_view text) {
    const auto size = utf8_length(text);
    const auto code = size == 0 ? char32_t{0} : code_of(text, size);
    Shown shown{{}, size == 0 ? 0 : columns_of(code), std::max<std::size_t>(size, 1)};
    if (shown.columns > 0) {
        shown.text = text.substr(0, size);
        return shown;
    }
    if (size == 0) shown.text = fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (code < 0xa0) shown.text = fmt::format("\\x{:02x}", static_cast<std::uint32_t>(code));  // C0, delete, C1
    else shown.text = fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(code));
    shown.columns = shown.text.size();
    return shown;
}

/// As much of the text as `width` columns take.
Shown fit(std::string_view text, std::size_t width) {
    Shown fitted;
    while (fitted.bytes < text.size()) {
        const auto next = first_shown(text.substr(fitted.bytes));
        if (fitted.columns + next.columns > width) break;
        fitted.text += next.text;
        fitted.columns += next.columns;
        fitted.bytes += next.bytes;
    }
    return fitted;
}

/// The same, with a mark when something was cut.
Shown cut(std::string_view text, std::size_t width) {
    auto fitted = fit(text, width);
    if (fitted.bytes == text.size() || width == 0) return fitted;
    fitted = fit(text, width - 1);
    fitted.text += "…";
    ++fitted.columns;
    return fitted;
}

}  // namespace

std::string screen_text(std::string_view text, std::size_t width) { return cut(text, width).text; }

std::string screen_cell(std::string_view text, std::size_t width, bool right) {
    auto shown = cut(text, width);
    const std::string fill(width - shown.columns, ' ');
    return right ? fill + shown.text : std::move(shown.text) + fill;
}

std::vector<std::string> screen_lines(std::string_view text, std::size_t width, std::size_t lines_max) {
    std::vector<std::string> lines;
    while (!text.empty() && width > 0 && lines.size() < lines_max) {
        const auto shown = lines.size() + 1 == lines_max ? cut(text, width) : fit(text, width);
        if (shown.bytes == 0) break;  // narrower than one character
        lines.push_back(shown.text);
        text.remove_prefix(shown.bytes);
    }
    return lines;
}

}  // namespace weir::app
