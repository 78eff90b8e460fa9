// SPDX-License-Identifier: Apache-2.0
// Lanes of adler32 for instruction sets with dot products of bytes (AVX-512 VNNI), or that multiply and
// add into wide lanes (NEON): nothing has to be widened. A unit is several vectors, so that the running
// sums are touched once for all of them and no instruction waits for the one before.
//
// V has: Unit, width, load(p), mask(a, b), Lane32 (a vector of unsigned lanes of 32 bits), zero(), add(x, y), sum(unit)
// and weigh(unit), whose lanes grow by at most sum_max and weigh_max for a unit, extra_weight (how much more
// than in weigh() a byte really weighs), total(lanes).
#pragma once

#include "adler32/adler32_vector.hpp"

template <class V>
class Adler32Dots {
public:
    using Unit = typename V::Unit;
    static constexpr std::size_t width = V::width;
    static constexpr std::size_t turn = 8;  // nothing happens between turns
    static constexpr std::size_t turns_max = 128;
    // A lane of prefix_ grows by at most sum_max * n^2 / 2 in n units.
    static_assert(std::uint64_t{V::sum_max} * (turn * turns_max) * (turn * turns_max) / 2 < std::uint64_t{1} << 32);
    static_assert(std::uint64_t{V::weigh_max} * (turn * turns_max) < std::uint64_t{1} << 31);

    // Written out, because an implicit constructor would be compiled without the instruction set.
    Adler32Dots() noexcept : sum_(V::zero()), prefix_(V::zero()), weighted_(V::zero()) {}

    static Unit load(const std::byte* at) noexcept { return V::load(at); }
    static Unit mask(const Unit& a, const Unit& b) noexcept { return V::mask(a, b); }

    void take(const Unit& bytes) noexcept {
        prefix_ = V::add(prefix_, sum_);
        sum_ = V::add(sum_, V::sum(bytes));
        weighted_ = V::add(weighted_, V::weigh(bytes));
    }

    void end_turn() noexcept {}

    [[nodiscard]] Adler32Totals totals() const noexcept {
        const std::uint64_t sum = V::total(sum_);
        return {sum, width * V::total(prefix_) + V::total(weighted_) + V::extra_weight * sum};
    }

    [[nodiscard]] static Adler32Totals totals_of(const Unit& bytes) noexcept {
        const std::uint64_t sum = V::total(V::sum(bytes));
        return {sum, V::total(V::weigh(bytes)) + V::extra_weight * sum};
    }

private:
    typename V::Lane32 sum_, prefix_, weighted_;
};
