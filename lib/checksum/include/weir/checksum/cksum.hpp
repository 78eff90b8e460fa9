// SPDX-License-Identifier: Apache-2.0
// POSIX cksum (IEEE Std 1003.1, utility cksum; XRootD calls it crc32): polynomial 0x04c11db7, bits in their
// natural order, begun with 0. At the end the length follows as data, its lowest byte first and without
// leading zeros, and all is inverted; so cksum("123456789") is 0x377a6011.
//
// The length is why there are two kinds of value here. A *running* value is the sum of bytes alone: it
// continues and joins like every CRC. A *finished* value is stored and compared; it holds the length
// as well, so joining two of them needs both lengths.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/data.hpp"
#include "weir/checksum/crc_combiner.hpp"

namespace weir::checksum {

/// The running value of `data`, continuing from `running`.
[[nodiscard]] std::uint32_t cksum_add(ConstData data, std::uint32_t running = 0) noexcept;

/// The finished value of `length` bytes with this running value.
[[nodiscard]] std::uint32_t cksum_finish(std::uint32_t running, std::uint64_t length) noexcept;

/// The running value that cksum_finish(running, length) was made of.
[[nodiscard]] std::uint32_t cksum_running(std::uint32_t finished, std::uint64_t length) noexcept;

/// The finished value of `data`.
[[nodiscard]] std::uint32_t cksum(ConstData data) noexcept;

/// The finished value of a followed by b, from their finished values and lengths. The lengths are amounts
/// of bytes that exist somewhere: together they stay below 2^64.
[[nodiscard]] std::uint32_t cksum_combine(std::uint32_t a, std::uint64_t length_of_a, std::uint32_t b,
                                          std::uint64_t length_of_b) noexcept;

/// The running value of a followed by b, from their running values and the length of b. With many parts
/// this is the way: join the running values, finish once.
[[nodiscard]] std::uint32_t cksum_combine_running(std::uint32_t a, std::uint32_t b, std::uint64_t length_of_b) noexcept;

/// The kernel that this process uses: "vpclmul-avx2", ...
[[nodiscard]] std::string_view cksum_name() noexcept;

/// cksum_combine_running prepared for one length: one multiplication a call.
class CksumCombiner : public CrcCombiner {
public:
    explicit CksumCombiner(std::uint64_t length_of_b) noexcept;
};

}  // namespace weir::checksum
