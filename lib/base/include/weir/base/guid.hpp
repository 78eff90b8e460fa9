// SPDX-License-Identifier: Apache-2.0
// A globally unique id of a file: 16 bytes, random (RFC 9562 version 4). Its text form is the one of
// ATLAS metadata: 8-4-4-4-12 upper-case hex.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "weir/base/result.hpp"

namespace weir {

struct Guid {
    std::array<std::byte, 16> bytes{};

    auto operator<=>(const Guid&) const noexcept = default;

    static constexpr std::size_t text_size = 36;  // of to_string()

    /// From the kernel's random source.
    [[nodiscard]] static Guid random();
};

[[nodiscard]] std::string to_string(const Guid& guid);
[[nodiscard]] Result<Guid> parse_guid(std::string_view text);

struct GuidHash {
    [[nodiscard]] std::size_t operator()(const Guid& guid) const noexcept;
};

}  // namespace weir
