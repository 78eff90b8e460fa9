// SPDX-License-Identifier: Apache-2.0
// CRCs bit by bit as R. Williams describes them ("A Painless Guide to CRC Error Detection Algorithms", 1993), in
// natural order, with bytes and sums turned around where the CRC asks for it: a definition that shares neither
// code nor the order of bits with the library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/base/data.hpp"

namespace weir::checksum::test {

struct Williams {
    unsigned width;
    std::uint64_t polynomial;
    bool reflected;
    std::uint64_t inverted;  // what the register begins with, and what the sum is combined with at the end

    [[nodiscard]] std::uint64_t sum(ConstData data, std::uint64_t value = 0) const {
        auto bits = natural(value ^ inverted);
        for (const auto byte : data) {
            const auto number = std::to_integer<std::uint64_t>(byte);
            bits ^= (reflected ? turned(number, 8) : number) << (width - 8);
            for (int bit = 0; bit < 8; ++bit) bits = times_x(bits);
        }
        return natural(bits) ^ inverted;
    }

    /// a * b modulo the polynomial; both and the result in the CRC's own order of bits.
    [[nodiscard]] std::uint64_t product(std::uint64_t a, std::uint64_t b) const {
        return natural(natural_product(natural(a), natural(b)));
    }

    /// x^(8 * length), in the CRC's own order of bits.
    [[nodiscard]] std::uint64_t power(std::uint64_t length) const {
        std::uint64_t result = 1;
        for (std::uint64_t square = 1 << 8; length != 0; length >>= 1) {
            if ((length & 1) != 0) result = natural_product(result, square);
            square = natural_product(square, square);
        }
        return natural(result);
    }

    [[nodiscard]] std::uint64_t combine(std::uint64_t a, std::uint64_t b, std::uint64_t length_of_b) const {
        return product(a, power(length_of_b)) ^ b;
    }

private:
    static std::uint64_t turned(std::uint64_t value, unsigned bits) {
        std::uint64_t result = 0;
        for (unsigned i = 0; i < bits; ++i)
            if ((value >> i & 1) != 0) result |= std::uint64_t{1} << (bits - 1 - i);
        return result;
    }
    [[nodiscard]] std::uint64_t natural(std::uint64_t value) const { return reflected ? turned(value, width) : value; }
    [[nodiscard]] std::uint64_t times_x(std::uint64_t bits) const {
        const bool out = (bits >> (width - 1) & 1) != 0;
        const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
        return (bits << 1 & mask) ^ (out ? polynomial : 0);
    }
    [[nodiscard]] std::uint64_t natural_product(std::uint64_t a, std::uint64_t b) const {
        std::uint64_t result = 0;
        for (int degree = static_cast<int>(width) - 1; degree >= 0; --degree) {
            result = times_x(result);
            if ((a >> degree & 1) != 0) result ^= b;
        }
        return result;
    }
};

}  // namespace weir::checksum::test
