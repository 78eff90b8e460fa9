// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli; RFC 3720, SCTP, ext4, S3): the sum that travels with every message. In the usual
// convention: bits reflected, inverted before and after, so crc32c("123456789") is 0xe3069283.
//
// Joining two sums is a multiplication by x^(8 * length) modulo the polynomial. The powers of x repeat
// after 2^31 - 1 of them, so any 64-bit length folds to 31 bits first: four table look-ups and four
// carry-less multiplications, whatever the length.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/data.hpp"
#include "weir/checksum/crc_combiner.hpp"

namespace weir::checksum {

/// The sum of `data`, continuing from `value`: crc32c(b, crc32c(a)) == crc32c(a followed by b).
[[nodiscard]] std::uint32_t crc32c(ConstData data, std::uint32_t value = 0) noexcept;

/// The sum of a followed by b, from their sums and the length of b.
[[nodiscard]] std::uint32_t crc32c_combine(std::uint32_t a, std::uint32_t b, std::uint64_t length_of_b) noexcept;

/// The kernel that this process uses: "two-ways-avx2", "isa-l", ...
[[nodiscard]] std::string_view crc32c_name() noexcept;

/// crc32c_combine prepared for one length (blocks of a file, say): one multiplication a call.
class Crc32cCombiner : public CrcCombiner {
public:
    explicit Crc32cCombiner(std::uint64_t length_of_b) noexcept;
};

}  // namespace weir::checksum
