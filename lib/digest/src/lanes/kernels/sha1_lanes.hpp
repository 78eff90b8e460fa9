// SPDX-License-Identifier: Apache-2.0
// The rounds of sha1 (FIPS 180-4, section 6.1) over vectors; see lanes_over_blocks.hpp.
#pragma once

#include "lanes/kernels/lanes_over_blocks.hpp"

template <class Set, std::size_t groups>
struct Sha1 {
    using Vector = Words<Set::width>;
    static constexpr std::size_t words = 5;
    static constexpr auto order = std::endian::big;

    static void rounds(Vector (&s)[groups][words], Vector (&m)[groups][16]) noexcept {
        [&]<std::size_t... i>(std::index_sequence<i...>)
            __attribute__((always_inline)) { (step<i>(s, m), ...); }(std::make_index_sequence<80>());
    }

private:
    template <std::size_t i>
    WEIR_INLINE static void step(Vector (&s)[groups][words], Vector (&m)[groups][16]) noexcept {
        constexpr std::uint32_t constant[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        for (std::size_t n = 0; n < groups; ++n) {
            const auto& a = s[n][(80 - i) % 5];
            auto &b = s[n][(81 - i) % 5], &e = s[n][(84 - i) % 5];
            const auto &c = s[n][(82 - i) % 5], &d = s[n][(83 - i) % 5];
            auto& w = m[n][i % 16];  // the schedule, computed where the message was
            if constexpr (i >= 16)
                w = rotate_left<Set, 1>(w ^ m[n][(i + 2) % 16] ^ m[n][(i + 8) % 16] ^ m[n][(i + 13) % 16]);
            e += w + constant[i / 20];
            if constexpr (i < 20) {
                e += d ^ (b & (c ^ d));
            } else if constexpr (i >= 40 && i < 60 && Set::ternary) {
                e += (b & c) | (d & (b | c));
            } else if constexpr (i >= 40 && i < 60) {  // both parts have no bit in common: or is plus
                e += c & d;
                e += b & (c ^ d);
            } else {
                e += b ^ c ^ d;
            }
            e += rotate_left<Set, 5>(a);
            b = rotate_left<Set, 30>(b);
        }
    }
};
