// SPDX-License-Identifier: Apache-2.0
// One description of a CRC, in the terms of R. Williams, "A Painless Guide to CRC Error Detection
// Algorithms" (1993). Tables, folding constants and the powers that join sums are all made from it at
// compile time, so a CRC is these five facts and nothing else. Their source is the catalogue of parametrised
// CRC algorithms (G. Cook, reveng.sourceforge.io/crc-catalogue), under the names in quotes.
#pragma once

#include <cstdint>

namespace weir::checksum {

struct CrcSpec {
    unsigned width;            // 32 or 64
    std::uint64_t polynomial;  // the highest bit is the highest power; x^width is implied
    bool reflected;            // the lowest bit of a byte comes first
    std::uint64_t init;        // the register before the first byte
    std::uint64_t xor_out;     // turns the register into the sum

    bool operator==(const CrcSpec&) const = default;
};

inline constexpr CrcSpec crc32_spec{32, 0x04c11db7, true, 0xffffffff, 0xffffffff};   // "CRC-32/ISO-HDLC"
inline constexpr CrcSpec crc32c_spec{32, 0x1edc6f41, true, 0xffffffff, 0xffffffff};  // "CRC-32/ISCSI"
inline constexpr CrcSpec crc64_xz_spec{64, 0x42f0e1eba9ea3693, true, ~std::uint64_t{0}, ~std::uint64_t{0}};
inline constexpr CrcSpec crc64_nvme_spec{64, 0xad93d23594c93659, true, ~std::uint64_t{0}, ~std::uint64_t{0}};
inline constexpr CrcSpec crc64_ecma182_spec{64, 0x42f0e1eba9ea3693, false, 0, 0};

/// "CRC-32/CKSUM" without its last step: the inversion comes after the length, which is data too.
inline constexpr CrcSpec cksum_spec{32, 0x04c11db7, false, 0, 0};

}  // namespace weir::checksum
