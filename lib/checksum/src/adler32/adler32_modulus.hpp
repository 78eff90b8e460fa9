// SPDX-License-Identifier: Apache-2.0
// The largest prime below 2^16: both sums of adler32 are taken modulo it (RFC 1950, section 9).
#pragma once

#include <cstdint>

namespace weir::checksum {

inline constexpr std::uint32_t adler32_modulus = 65521;

}  // namespace weir::checksum
