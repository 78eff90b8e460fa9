// SPDX-License-Identifier: Apache-2.0
// BLAKE3 word by word, as the paper has it: the definition of "right".
#include <algorithm>
#include <bit>

#include "blake3/blake3_kernels.hpp"
#include "weir/base/endian.hpp"

namespace weir::digest::blake3 {
namespace {

using Words16 = std::array<std::uint32_t, 16>;

void mix(Words16& v, std::size_t a, std::size_t b, std::size_t c, std::size_t d, std::uint32_t x,
         std::uint32_t y) noexcept {
    v[a] += v[b] + x;
    v[d] = std::rotr(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 12);
    v[a] += v[b] + y;
    v[d] = std::rotr(v[d] ^ v[a], 8);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 7);
}

void compress_words(Node& node, const Words16& m, std::uint64_t counter, std::uint32_t length,
                    std::uint32_t flags) noexcept {
    Words16 v;
    std::ranges::copy(node, v.begin());
    std::copy_n(initial.begin(), 4, v.begin() + 8);
    v[12] = static_cast<std::uint32_t>(counter);
    v[13] = static_cast<std::uint32_t>(counter >> 32);
    v[14] = length;
    v[15] = flags;
    for (const auto& s : schedule) {
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (std::size_t i = 0; i < 8; ++i) node[i] = v[i] ^ v[i + 8];
}

void compress(Node& node, const std::byte* block, std::uint64_t counter, std::uint32_t length,
              std::uint32_t flags) noexcept {
    Words16 words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = load_little<std::uint32_t>({block, block_size}, 4 * i);
    compress_words(node, words, counter, length, flags);
}

void chunks(const std::byte* data, std::size_t count, std::uint64_t first, Node* nodes) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        nodes[i] = initial;
        for (std::size_t at = 0; at < chunk_size; at += block_size, data += block_size) {
            const std::uint32_t flags = (at == 0 ? chunk_start : 0U) | (at == chunk_size - block_size ? chunk_end : 0U);
            compress(nodes[i], data, first + i, block_size, flags);
        }
    }
}

void parents(const Node* children, std::size_t count, Node* nodes) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        Words16 words;
        std::ranges::copy(children[2 * i], words.begin());
        std::ranges::copy(children[2 * i + 1], words.begin() + 8);
        nodes[i] = initial;
        compress_words(nodes[i], words, 0, block_size, parent);
    }
}

}  // namespace

constinit const Kernel portable{"portable", [](const CpuFeatures&) noexcept { return true; }, compress, chunks,
                                parents};

}  // namespace weir::digest::blake3
