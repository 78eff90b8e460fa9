// SPDX-License-Identifier: Apache-2.0
// Arithmetic of polynomials over GF(2) modulo that of a CRC, in the CRC's own bit order: reflected, the
// highest bit of a word is the coefficient of x^0; otherwise the lowest is. Appending n zero bytes to a
// message multiplies its register by x^(8n); everything that joins or shifts sums rests on that. All of it is
// computed at compile time or serves as the definition of right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "crc/crc_spec.hpp"

namespace weir::checksum {

template <CrcSpec spec>
struct CrcField {
    static_assert(spec.width == 32 || spec.width == 64);
    static_assert(spec.init == spec.xor_out, "the sum of no bytes is 0, and a sum continues from its value");

    using Word = std::conditional_t<spec.width == 32, std::uint32_t, std::uint64_t>;

    static constexpr Word highest_bit = Word{1} << (spec.width - 1);
    static constexpr Word one = spec.reflected ? highest_bit : 1;  // x^0

    /// The coefficients below x^width.
    static constexpr Word polynomial = [] {
        Word bits = 0;
        for (unsigned degree = 0; degree < spec.width; ++degree)
            if ((spec.polynomial >> degree & 1) != 0) bits |= spec.reflected ? one >> degree : one << degree;
        return bits;
    }();

    [[nodiscard]] static constexpr Word times_x(Word a) noexcept {
        if constexpr (spec.reflected) return static_cast<Word>(a >> 1 ^ ((a & 1) != 0 ? polynomial : 0));
        return static_cast<Word>(a << 1 ^ ((a & highest_bit) != 0 ? polynomial : 0));
    }

    /// a * b modulo the polynomial, bit by bit.
    [[nodiscard]] static constexpr Word multiply(Word a, Word b) noexcept {
        Word product = 0;
        while (a != 0) {
            if ((a & one) != 0) product ^= b;
            a = spec.reflected ? static_cast<Word>(a << 1) : static_cast<Word>(a >> 1);
            b = times_x(b);
        }
        return product;
    }

    /// x^exponent modulo the polynomial.
    [[nodiscard]] static constexpr Word power_of_x(std::uint64_t exponent) noexcept {
        Word result = one;
        for (Word square = times_x(one); exponent != 0; exponent >>= 1) {
            if ((exponent & 1) != 0) result = multiply(result, square);
            square = multiply(square, square);
        }
        return result;
    }

    /// The powers of x repeat with the period 2^period_bits - 1. (Of 64 bits, any 64-bit length is used as it is.)
    static constexpr unsigned period_bits = [] {
        if (spec.width == 64) return 64U;
        return power_of_x((std::uint64_t{1} << 31) - 1) == one ? 31U : 32U;
    }();
    static constexpr std::uint64_t period =
        period_bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (period_bits % 64)) - 1;
    static_assert(period_bits == 64 || power_of_x(period) == one);

    static constexpr std::size_t length_bytes = spec.width / 8;

    /// Congruent to `length` modulo the period, and no more than length_bytes long: the first line leaves less
    /// than 2^34 for a period of 31 bits and at most 2^33 - 2 for one of 32.
    [[nodiscard]] static constexpr std::uint64_t fold_length(std::uint64_t length) noexcept {
        if constexpr (period_bits != 64) {
            length = (length & period) + (length >> period_bits);  // 2^period_bits is 1 modulo the period
            length = (length & period) + (length >> period_bits);
        }
        return length;
    }

    /// byte_powers<k>[n] = x^(8 * n * 256^k): a factor for byte k of a folded length.
    template <std::size_t k>
    static constexpr std::array<Word, 256> byte_powers = [] {
        Word step = power_of_x(8);
        for (std::size_t doubling = 0; doubling < 8 * k; ++doubling) step = multiply(step, step);
        std::array<Word, 256> powers{};
        powers[0] = one;
        for (std::size_t n = 1; n < powers.size(); ++n) powers[n] = multiply(powers[n - 1], step);
        return powers;
    }();

    /// x^(8 * length): the factor of the register of a when `length` bytes follow. The products form
    /// a tree, so that most do not wait for each other.
    template <class Multiply>
    [[nodiscard]] static Word shift_for(std::uint64_t length, Multiply&& product) noexcept {
        const std::uint64_t n = fold_length(length);
        const Word low = product(product(byte_powers<0>[n & 0xff], byte_powers<1>[n >> 8 & 0xff]),
                                 product(byte_powers<2>[n >> 16 & 0xff], byte_powers<3>[n >> 24 & 0xff]));
        if constexpr (length_bytes == 4) {
            return low;
        } else {
            if (n >> 32 == 0) return low;  // parts are hardly ever longer
            return product(low, product(product(byte_powers<4>[n >> 32 & 0xff], byte_powers<5>[n >> 40 & 0xff]),
                                        product(byte_powers<6>[n >> 48 & 0xff], byte_powers<7>[n >> 56])));
        }
    }
};

/// A register or a sum: std::uint32_t or std::uint64_t.
template <CrcSpec spec>
using CrcWord = typename CrcField<spec>::Word;

}  // namespace weir::checksum
