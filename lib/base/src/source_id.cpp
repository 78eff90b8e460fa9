// SPDX-License-Identifier: Apache-2.0
#include "weir/base/source_id.hpp"

#include <charconv>

namespace weir {

std::optional<SourceId> parse_source_id(std::string_view text) noexcept {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    std::uint32_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return SourceId{value};
}

}  // namespace weir
