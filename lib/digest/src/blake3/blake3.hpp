// SPDX-License-Identifier: Apache-2.0
// BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2021), 256 bits,
// unkeyed: its constants. The input is cut into chunks of 1 KiB, which are the leaves of a binary tree.
// A node's value is 256 bits; whole chunks and pairs of nodes are independent of each other, so they fill
// the lanes of a vector (blake3_lanes.hpp) and, above, several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::digest::blake3 {

inline constexpr std::size_t block_size = 64;
inline constexpr std::size_t chunk_size = 1024;

using Node = std::array<std::uint32_t, 8>;

enum Flag : std::uint32_t { chunk_start = 1, chunk_end = 2, parent = 4, root = 8 };

inline constexpr Node initial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

inline constexpr std::size_t rounds = 7;

/// schedule[r][i]: the word of the block that is the i-th to be mixed in in round r.
inline constexpr auto schedule = [] {
    constexpr std::array<std::size_t, 16> permutation{2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
    std::array<std::array<std::size_t, 16>, rounds> words{};
    for (std::size_t i = 0; i < 16; ++i) words[0][i] = i;
    for (std::size_t r = 1; r < rounds; ++r)
        for (std::size_t i = 0; i < 16; ++i) words[r][i] = words[r - 1][permutation[i]];
    return words;
}();

}  // namespace weir::digest::blake3
