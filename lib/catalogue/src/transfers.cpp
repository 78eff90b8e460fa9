// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/transfers.hpp"

#include <algorithm>
#include <array>

namespace weir::catalogue {
namespace {

constexpr std::array<std::string_view, 5> words{"PENDING", "COPYING", "UNVERIFIED", "TRANSFERRED", "FAILED"};

}  // namespace

std::string_view name(CopyState state) noexcept { return words.at(static_cast<std::size_t>(state)); }

std::optional<CopyState> parse_copy_state(std::string_view text) noexcept {
    const auto* found = std::ranges::find(words, text);
    if (found == words.end()) return std::nullopt;
    return static_cast<CopyState>(found - words.begin());
}

}  // namespace weir::catalogue
