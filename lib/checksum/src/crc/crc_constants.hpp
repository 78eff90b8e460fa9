// SPDX-License-Identifier: Apache-2.0
// The factors of folding, made from the description of a CRC at compile time. Source: V. Gopal, E. Ozturk et
// al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009); the choice of
// what is shifted into place beforehand is ours.
//
// A lane is 128 bits of the message, a polynomial. Reflected, bit i of it is the coefficient of x^(127 - i);
// otherwise (the bytes of a lane are swapped when it is loaded) of x^i. A carry-less multiplication of two
// reflected halves gives the product times x, so their constants are one power of x lower.
//
// A CRC of 32 bits is computed as one of 64: modulo its polynomial times x^32 the remainder is the sum times
// x^32, so one reduction serves both widths.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crc/crc_field.hpp"

namespace weir::checksum {

/// The low and the high half of a lane of constants.
struct alignas(16) CrcPair {
    std::uint64_t low, high;
};

template <CrcSpec spec>
struct CrcConstants {
    using Field = CrcField<spec>;
    using Word = typename Field::Word;

    /// A power of x modulo the polynomial, as half a lane.
    [[nodiscard]] static constexpr std::uint64_t half(std::uint64_t exponent) noexcept {
        const std::uint64_t power = Field::power_of_x(exponent);
        return spec.reflected ? power << (64 - spec.width) : power;
    }

    /// Moves a lane ahead by `bytes`: each half is multiplied by its x^(8 * bytes) and by its place in the lane.
    [[nodiscard]] static constexpr CrcPair ahead(std::size_t bytes) noexcept {
        if (spec.reflected) return {half(8 * bytes + 63), half(8 * bytes - 1)};
        return {half(8 * bytes), half(8 * bytes + 64)};
    }

    /// The register, or a sum, as the half of a lane that holds the first bytes; and back.
    [[nodiscard]] static constexpr std::uint64_t widen(Word sum) noexcept {
        return spec.reflected ? std::uint64_t{sum} : std::uint64_t{sum} << (64 - spec.width);
    }
    [[nodiscard]] static constexpr Word narrow(std::uint64_t remainder) noexcept {
        return static_cast<Word>(spec.reflected ? remainder : remainder >> (64 - spec.width));
    }

    // The last reduction, modulo M = polynomial * x^(64 - width), whose x^64 is implied (P. Barrett's method, exact
    // for polynomials). Reflected, M and the quotient x^128 / M have their x^64 ... x^1 here, so that a product
    // ends in place; their x^0 is what is missing. Otherwise they have x^63 ... x^0.
    static constexpr std::uint64_t first_half_ahead =
        widen(Field::power_of_x(spec.reflected ? spec.width + 63 : spec.width + 64));
    static constexpr std::uint64_t modulus =
        spec.reflected ? widen(Field::polynomial) << 1 | 1 : widen(Field::polynomial);
    static constexpr bool modulus_has_one = spec.width == 64;
    static constexpr std::uint64_t quotient = [] {
        // Long division, natural order: bit 63 of `rest` is the coefficient that is divided next.
        std::uint64_t m = 0;
        for (unsigned i = 0; i < spec.width; ++i)
            if ((spec.polynomial >> i & 1) != 0) m |= std::uint64_t{1} << (i + 64 - spec.width);
        std::uint64_t rest = m;  // x^128 - x^64 * M
        std::uint64_t bits = 0;  // x^63 ... x^0 of the quotient
        for (int degree = 63; degree >= 0; --degree) {
            const bool divides = rest >> 63 != 0;
            if (divides) bits |= std::uint64_t{1} << degree;
            rest = rest << 1 ^ (divides ? m : 0);
        }
        if (!spec.reflected) return bits;
        std::uint64_t reflected = 1;  // x^64
        for (unsigned degree = 63; degree >= 1; --degree)
            if ((bits >> degree & 1) != 0) reflected |= std::uint64_t{1} << (64 - degree);
        return reflected;
    }();
};

}  // namespace weir::checksum
