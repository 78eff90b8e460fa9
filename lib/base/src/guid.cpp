// SPDX-License-Identifier: Apache-2.0
#include "weir/base/guid.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "weir/base/assert.hpp"

namespace weir {
namespace {

std::optional<unsigned> hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    return std::nullopt;
}

constexpr bool dash_at(std::size_t i) noexcept { return i == 8 || i == 13 || i == 18 || i == 23; }

}  // namespace

Guid Guid::random() {
    Guid guid;
    const auto got = ::getrandom(guid.bytes.data(), guid.bytes.size(), 0);
    WEIR_ASSERT(got == static_cast<ssize_t>(guid.bytes.size()));  // 16 bytes are never cut short (getrandom(2))
    guid.bytes[6] = (guid.bytes[6] & std::byte{0x0f}) | std::byte{0x40};
    guid.bytes[8] = (guid.bytes[8] & std::byte{0x3f}) | std::byte{0x80};
    return guid;
}

std::string to_string(const Guid& guid) {
    std::string text;
    for (std::size_t i = 0; i < guid.bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02X}", std::to_integer<unsigned>(guid.bytes[i]));
    }
    return text;
}

Result<Guid> parse_guid(std::string_view text) {
    Guid guid;
    bool good = text.size() == Guid::text_size;
    std::size_t digits = 0;
    for (std::size_t i = 0; good && i < text.size(); ++i) {
        if (dash_at(i)) {
            good = text[i] == '-';
        } else if (const auto value = hex_digit(text[i])) {
            auto& byte = guid.bytes[digits / 2];
            byte = (byte << 4) | static_cast<std::byte>(*value);
            ++digits;
        } else {
            good = false;
        }
    }
    if (good) return guid;
    return fail(Errc::corrupt, fmt::format("\"{}\" is not a GUID (8-4-4-4-12 hex digits)", text.substr(0, 64)));
}

std::size_t GuidHash::operator()(const Guid& guid) const noexcept {
    std::size_t value;
    static_assert(sizeof value <= 16);
    std::memcpy(&value, guid.bytes.data(), sizeof value);
    return value;
}

}  // namespace weir
