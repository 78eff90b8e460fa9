// SPDX-License-Identifier: Apache-2.0
// The token of those who may look: where a request shows it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::service {

/// A browser has the cookies of all ports of a machine in common.
[[nodiscard]] inline std::string token_cookie(std::uint16_t port) { return "weir-token-" + std::to_string(port); }

/// Of the headers Cookie and Authorization; nothing: neither has one.
[[nodiscard]] inline std::optional<std::string_view> token_of(std::string_view cookies, std::string_view authorization,
                                                              std::string_view name) {
    constexpr std::string_view bearer = "Bearer ";
    if (authorization.starts_with(bearer)) return authorization.substr(bearer.size());
    while (!cookies.empty()) {
        auto one = cookies.substr(0, cookies.find(';'));
        cookies.remove_prefix(std::min(one.size() + 1, cookies.size()));
        while (one.starts_with(' ')) one.remove_prefix(1);
        if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) return one.substr(name.size() + 1);
    }
    return std::nullopt;
}

}  // namespace weir::service
