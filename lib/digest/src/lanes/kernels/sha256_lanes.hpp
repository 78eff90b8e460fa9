// SPDX-License-Identifier: Apache-2.0
// The rounds of sha256 (FIPS 180-4, section 6.2) over vectors; see lanes_over_blocks.hpp.
#pragma once

#include "lanes/kernels/lanes_over_blocks.hpp"

template <class Set, std::size_t groups>
struct Sha256 {
    using Vector = Words<Set::width>;
    static constexpr std::size_t words = 8;
    static constexpr auto order = std::endian::big;

    static void rounds(Vector (&s)[groups][words], Vector (&m)[groups][16]) noexcept {
        [&]<std::size_t... i>(std::index_sequence<i...>)
            __attribute__((always_inline)) { (step<i>(s, m), ...); }(std::make_index_sequence<64>());
    }

private:
    template <int x, int y, int z>
    WEIR_INLINE static Vector turned(const Vector& v) noexcept {
        return rotate_right<Set, x>(v) ^ rotate_right<Set, y>(v) ^ rotate_right<Set, z>(v);
    }
    template <int x, int y, int shift>
    WEIR_INLINE static Vector turned_and_shifted(const Vector& v) noexcept {
        return rotate_right<Set, x>(v) ^ rotate_right<Set, y>(v) ^ v >> shift;
    }

    template <std::size_t i>
    WEIR_INLINE static void step(Vector (&s)[groups][words], Vector (&m)[groups][16]) noexcept {
        for (std::size_t n = 0; n < groups; ++n) {
            const auto &a = s[n][(64 - i) % 8], &b = s[n][(65 - i) % 8], &c = s[n][(66 - i) % 8];
            const auto &e = s[n][(68 - i) % 8], &f = s[n][(69 - i) % 8], &g = s[n][(70 - i) % 8];
            auto &d = s[n][(67 - i) % 8], &h = s[n][(71 - i) % 8];
            auto& w = m[n][i % 16];  // the schedule, computed where the message was
            if constexpr (i >= 16)
                w += m[n][(i + 9) % 16] + turned_and_shifted<7, 18, 3>(m[n][(i + 1) % 16]) +
                     turned_and_shifted<17, 19, 10>(m[n][(i + 14) % 16]);
            h += w + sha256_roots[i];
            h += g ^ (e & (f ^ g));
            h += turned<6, 11, 25>(e);
            d += h;
            if constexpr (Set::ternary) {
                h += (a & b) | (c & (a | b));
            } else {
                h += b ^ ((a ^ b) & (b ^ c));  // b ^ c is the a ^ b of the step before
            }
            h += turned<2, 13, 22>(a);
        }
    }
};
