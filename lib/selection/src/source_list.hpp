// SPDX-License-Identifier: Apache-2.0
// Sources as text, in the arguments of built-in selections and in tables of regions: "0x420000+0x420001".
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weir/base/ids.hpp"

namespace weir::selection {

/// "0x81" or "129".
[[nodiscard]] inline std::optional<std::uint32_t> parse_number(std::string_view text) noexcept {
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Nothing: one of them is no source, or there is none.
[[nodiscard]] inline std::optional<std::vector<SourceId>> parse_source_list(std::string_view text) {
    std::vector<SourceId> sources;
    while (true) {
        const auto plus = text.find('+');
        const auto source = parse_number(text.substr(0, plus));
        if (!source) return std::nullopt;
        sources.push_back(SourceId{*source});
        if (plus == text.npos) return sources;
        text.remove_prefix(plus + 1);
    }
}

}  // namespace weir::selection
