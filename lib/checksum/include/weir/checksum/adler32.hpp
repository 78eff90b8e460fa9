// SPDX-License-Identifier: Apache-2.0
// adler32 (RFC 1950): the sum that grid storage asks for with every file. Two sums modulo 65521, so the
// parts of a file can be summed apart and joined in a few nanoseconds. The kernel is chosen once, at
// the first call, from the list in kernels.hpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/data.hpp"

namespace weir::checksum {

inline constexpr std::uint32_t adler32_start = 1;  // the sum of no bytes

/// The sum of `data`, continuing from `value`: adler32(b, adler32(a)) == adler32(a followed by b).
[[nodiscard]] std::uint32_t adler32(ConstData data, std::uint32_t value = adler32_start) noexcept;

/// The sum of a followed by b, from their sums and the length of b.
[[nodiscard]] std::uint32_t adler32_combine(std::uint32_t a, std::uint32_t b, std::uint64_t length_of_b) noexcept;

/// The kernel that this process uses: "avx2", ...
[[nodiscard]] std::string_view adler32_name() noexcept;

}  // namespace weir::checksum
