// SPDX-License-Identifier: Apache-2.0
// adler32, the checksum inside events. One function here, so that a faster one can take its place.
#pragma once

#include <cstdint>

#include "weir/base/data.hpp"

namespace weir::event {

inline constexpr std::uint32_t adler32_start = 1;
inline constexpr std::uint32_t adler32_base = 65521;

/// The sum of the bytes that `sum` covers, followed by `data`.
[[nodiscard]] std::uint32_t payload_adler32(ConstData data, std::uint32_t sum = adler32_start) noexcept;

/// The sum of `size` bytes after the 4 at `position` were changed from `before` to `after`, from the
/// sum before: the low half is a sum of bytes, the high half weighs each by its distance to the end.
[[nodiscard]] std::uint32_t adler32_after_change(std::uint32_t sum, std::uint64_t size, std::uint64_t position,
                                                 std::uint32_t before, std::uint32_t after) noexcept;

}  // namespace weir::event
