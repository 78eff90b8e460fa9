// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648, section 4) without padding. Each sequence of bytes has one text, and only that is read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::wire {

inline constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

[[nodiscard]] constexpr std::size_t base64_size(std::size_t bytes) noexcept { return (bytes * 4 + 2) / 3; }

inline void append_base64(std::span<const std::uint8_t> bytes, std::string& to) {
    std::uint32_t held = 0;
    unsigned bits = 0;
    for (const auto byte : bytes) {
        held = held << 8 | byte;
        for (bits += 8; bits >= 6;) {
            bits -= 6;
            to += base64_digits[held >> bits & 63];
        }
    }
    if (bits > 0) to += base64_digits[held << (6 - bits) & 63];
}

[[nodiscard]] inline std::optional<std::vector<std::uint8_t>> read_base64(std::string_view text) {
    static constexpr auto values = [] {
        std::array<std::uint8_t, 256> all{};
        all.fill(64);
        for (std::size_t i = 0; i < base64_digits.size(); ++i)
            all[static_cast<unsigned char>(base64_digits[i])] = static_cast<std::uint8_t>(i);
        return all;
    }();
    if (text.size() % 4 == 1) return std::nullopt;
    std::vector<std::uint8_t> bytes;
    bytes.reserve(text.size() * 3 / 4);
    std::uint32_t held = 0;
    unsigned bits = 0;
    for (const char c : text) {
        const auto value = values[static_cast<unsigned char>(c)];
        if (value == 64) return std::nullopt;
        held = held << 6 | value;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        bytes.push_back(static_cast<std::uint8_t>(held >> bits));
    }
    if ((held & ((1U << bits) - 1)) != 0) return std::nullopt;
    return bytes;
}

}  // namespace weir::wire
