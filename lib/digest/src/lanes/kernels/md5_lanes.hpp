// SPDX-License-Identifier: Apache-2.0
// The rounds of md5 (RFC 1321) over vectors; see lanes_over_blocks.hpp.
#pragma once

#include "lanes/kernels/lanes_over_blocks.hpp"

constexpr std::uint32_t md5_sines[64] = {  // 2^32 * |sin(i + 1)|
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

template <class Set, std::size_t groups>
struct Md5 {
    using Vector = Words<Set::width>;
    static constexpr std::size_t words = 4;
    static constexpr auto order = std::endian::little;

    static void rounds(Vector (&s)[groups][words], const Vector (&m)[groups][16]) noexcept {
        [&]<std::size_t... i>(std::index_sequence<i...>)
            __attribute__((always_inline)) { (step<i>(s, m), ...); }(std::make_index_sequence<64>());
    }

private:
    template <std::size_t i>
    WEIR_INLINE static void step(Vector (&s)[groups][words], const Vector (&m)[groups][16]) noexcept {
        constexpr std::size_t place[4] = {i, 5 * i + 1, 3 * i + 5, 7 * i};
        constexpr int turn[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
        for (std::size_t n = 0; n < groups; ++n) {
            auto& a = s[n][(64 - i) % 4];
            const auto &b = s[n][(65 - i) % 4], &c = s[n][(66 - i) % 4], &d = s[n][(67 - i) % 4];
            // b is the last to be ready, so it comes in last.
            a += m[n][place[i / 16] % 16] + md5_sines[i];
            if constexpr (i < 16) {
                a += (b & c) | (d & ~b);
            } else if constexpr (i < 32 && Set::ternary) {
                a += c ^ (d & (b ^ c));
            } else if constexpr (i < 32) {  // both parts have no bit in common: or is plus
                a += c & ~d;
                a += b & d;
            } else if constexpr (i < 48) {
                a += b ^ (c ^ d);
            } else {
                a += c ^ (b | ~d);
            }
            a = rotate_left<Set, turn[i / 16][i % 4]>(a) + b;
        }
    }
};
