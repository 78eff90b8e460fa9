// SPDX-License-Identifier: Apache-2.0
// CRC-32 (ISO 3309, ITU-T V.42, RFC 1952; zlib's crc32, XRootD's zcrc32): polynomial 0x04c11db7, bits
// reflected, inverted before and after, so crc32("123456789") is 0xcbf43926. The crc32 of XRootD is
// another sum: cksum.hpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/data.hpp"
#include "weir/checksum/crc_combiner.hpp"

namespace weir::checksum {

/// The sum of `data`, continuing from `value`: crc32(b, crc32(a)) == crc32(a followed by b).
[[nodiscard]] std::uint32_t crc32(ConstData data, std::uint32_t value = 0) noexcept;

/// The sum of a followed by b, from their sums and the length of b.
[[nodiscard]] std::uint32_t crc32_combine(std::uint32_t a, std::uint32_t b, std::uint64_t length_of_b) noexcept;

/// The kernel that this process uses: "vpclmul-avx2", ...
[[nodiscard]] std::string_view crc32_name() noexcept;

/// crc32_combine prepared for one length (blocks of a file, say): one multiplication a call.
class Crc32Combiner : public CrcCombiner {
public:
    explicit Crc32Combiner(std::uint64_t length_of_b) noexcept;
};

}  // namespace weir::checksum
