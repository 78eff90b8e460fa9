// SPDX-License-Identifier: Apache-2.0
// Which bytes are UTF-8. Names of files and senders may be any bytes; where a format takes only UTF-8 (JSON,
// Prometheus), the others are replaced or escaped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

/// Bytes of the well-formed character at the start of `text`, by table 3-7 of the Unicode standard; 0: none.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const auto follows = [&](std::size_t i, unsigned least = 0x80, unsigned most = 0xbf) {
        return byte(i) >= least && byte(i) <= most;
    };
    const unsigned lead = byte(0);
    if (text.empty()) return 0;
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
        const unsigned least = lead == 0xe0 ? 0xa0 : 0x80;  // no overlong forms
        const unsigned most = lead == 0xed ? 0x9f : 0xbf;   // no surrogates
        return follows(1, least, most) && follows(2) ? 3 : 0;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        const unsigned least = lead == 0xf0 ? 0x90 : 0x80;
        const unsigned most = lead == 0xf4 ? 0x8f : 0xbf;  // up to U+10FFFF
        return follows(1, least, most) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

/// With U+FFFD for each byte that is not UTF-8.
[[nodiscard]] inline std::string valid_utf8(std::string_view text) {
    std::string valid;
    while (!text.empty()) {
        const auto size = utf8_length(text);
        valid += size > 0 ? text.substr(0, size) : "\xef\xbf\xbd";
        text.remove_prefix(size > 0 ? size : 1);
    }
    return valid;
}

}  // namespace weir
