// SPDX-License-Identifier: Apache-2.0
// Lanes of adler32 for instruction sets that multiply bytes into 16 bits (SSSE3, AVX2). A unit is two
// vectors of W/2 bytes. Within a turn of 8 units everything stays in 16 bits, in columns of two bytes:
//
//     sums     of the columns of both vectors       8 * 1020 = 8160 at most
//     firsts   of those of the first vector         8 * 510
//     seconds  minus the second byte of each column -8 * 510 at least
//     before   sum of `sums` before each unit       1020 * (0 + 1 + ... + 7) = 28560 at most
//
// The first byte of column c weighs W/2 - 2c, the second one less, and all of the first vector W/2 more:
// so (W/2 - 2c) * sums + seconds + W/2 * firsts. That is twelve instructions for two vectors (loads,
// multiplications by ones, shifts, six additions) which spread over all ports; to sum and weight each
// vector by multiplication would fill the two ports that multiply. At the end of a turn the columns are
// widened to 32 bits.
//
// keep(x) requires that x is in a register here. Without it g++ loads a vector once for each use, and regroups the
// additions of a whole turn until the registers do not suffice: a third slower.
//
// V has: Vector, width, load(p), keep(x), zero(), both(a, b), column_sums(bytes), second_bytes(bytes), add16,
// sub16, add32, widen(columns, factors), all16<value>(), factors16(); and for the end: quads_unsigned(lanes)
// and quads_signed(lanes), lanes of 64 bits, add64, times<power of two>(quads), total(quads).
#pragma once

#include "adler32/adler32_vector.hpp"

template <class V>
class Adler32Columns {
    using Vector = typename V::Vector;

public:
    struct Unit {
        Vector first, second;
    };
    static constexpr std::size_t width = 2 * V::width;
    static constexpr std::size_t turn = 8;
    // A lane of sum_ grows by 2 * 8160 a turn, so one of prefix_ by at most 8160 * n^2 in n turns.
    static constexpr std::size_t turns_max = 512;
    static_assert(std::uint64_t{8160} * turns_max * turns_max < std::uint64_t{1} << 32);
    // A lane of weighted_ grows by less than 2 * W * 8160 a turn, one of inner_prefix_ by 2 * 28560.
    static_assert(std::uint64_t{2} * width * 8160 * turns_max < std::uint64_t{1} << 31);

    // Written out, because an implicit constructor would be compiled without the instruction set.
    Adler32Columns() noexcept
        : sums_(V::zero()),
          firsts_(V::zero()),
          seconds_(V::zero()),
          before_(V::zero()),
          sum_(V::zero()),
          prefix_(V::zero()),
          weighted_(V::zero()),
          inner_prefix_(V::zero()) {}

    static Unit load(const std::byte* at) noexcept { return {V::load(at), V::load(at + V::width)}; }
    static Unit mask(const Unit& a, const Unit& b) noexcept {
        return {V::both(a.first, b.first), V::both(a.second, b.second)};
    }

    void take(Unit bytes) noexcept {
        V::keep(bytes.first);
        V::keep(bytes.second);
        const auto first = V::column_sums(bytes.first);
        auto both = V::add16(first, V::column_sums(bytes.second));
        auto seconds = V::add16(V::second_bytes(bytes.first), V::second_bytes(bytes.second));
        V::keep(both);
        V::keep(seconds);
        before_ = V::add16(before_, sums_);
        sums_ = V::add16(sums_, both);
        firsts_ = V::add16(firsts_, first);
        seconds_ = V::sub16(seconds_, seconds);
        V::keep(before_);
        V::keep(sums_);
        V::keep(firsts_);
        V::keep(seconds_);
    }

    void end_turn() noexcept {
        const auto ones = V::template all16<1>();
        prefix_ = V::add32(prefix_, sum_);
        sum_ = V::add32(sum_, V::widen(sums_, ones));
        weighted_ = V::add32(weighted_, weigh(sums_, firsts_, seconds_));
        inner_prefix_ = V::add32(inner_prefix_, V::widen(before_, ones));
        sums_ = firsts_ = seconds_ = before_ = V::zero();
    }

    [[nodiscard]] Adler32Totals totals() const noexcept {
        const auto units =
            V::add64(V::template times<turn>(V::quads_unsigned(prefix_)), V::quads_unsigned(inner_prefix_));
        const auto all = V::add64(V::template times<width>(units), V::quads_signed(weighted_));
        return {V::total(V::quads_unsigned(sum_)), V::total(all)};
    }

    [[nodiscard]] static Adler32Totals totals_of(const Unit& bytes) noexcept {
        const auto first = V::column_sums(bytes.first);
        const auto sums = V::add16(first, V::column_sums(bytes.second));
        const auto seconds = V::add16(V::second_bytes(bytes.first), V::second_bytes(bytes.second));
        return {V::total(V::quads_unsigned(V::widen(sums, V::template all16<1>()))),
                V::total(V::quads_signed(weigh(sums, first, V::sub16(V::zero(), seconds))))};
    }

private:
    static Vector weigh(Vector sums, Vector firsts, Vector seconds) noexcept {
        return V::add32(V::add32(V::widen(sums, V::factors16()), V::widen(seconds, V::template all16<1>())),
                        V::widen(firsts, V::template all16<V::width>()));
    }

    Vector sums_, firsts_, seconds_, before_;
    Vector sum_;           // of all finished turns
    Vector prefix_;        // sum of sum_ before each turn
    Vector weighted_;      // by the place in the unit
    Vector inner_prefix_;  // sum of before_
};
