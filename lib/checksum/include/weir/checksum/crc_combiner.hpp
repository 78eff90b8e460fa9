// SPDX-License-Identifier: Apache-2.0
// The joining of two 32-bit CRCs, prepared for one length.
#pragma once

#include <cstdint>

namespace weir::checksum {

/// One multiplication a call. Made by Crc32Combiner, Crc32cCombiner and CksumCombiner.
class CrcCombiner {
public:
    [[nodiscard]] std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const noexcept {
        return multiply_(a, power_) ^ b;
    }

protected:
    using Multiply = std::uint32_t (*)(std::uint32_t, std::uint32_t) noexcept;
    CrcCombiner(Multiply multiply, std::uint32_t power) noexcept : multiply_(multiply), power_(power) {}

private:
    Multiply multiply_;
    std::uint32_t power_;  // x^(8 * length of b) modulo the polynomial
};

}  // namespace weir::checksum
