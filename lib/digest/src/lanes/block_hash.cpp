// SPDX-License-Identifier: Apache-2.0
#include "lanes/block_hash.hpp"

#include <algorithm>

#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"

namespace weir::digest {
namespace {

constexpr BlockHash md5{4, {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}, std::endian::little};
constexpr BlockHash sha1{5, {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}, std::endian::big};
constexpr BlockHash sha256{
    8,
    {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
    std::endian::big};

constexpr BlockHash sha224{
    8,
    {0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4},
    std::endian::big};

}  // namespace

bool is_block_hash(Algorithm algorithm) noexcept {
    return algorithm == Algorithm::md5 || algorithm == Algorithm::sha1 || algorithm == Algorithm::sha224 ||
           algorithm == Algorithm::sha256;
}

const BlockHash& block_hash(Algorithm algorithm) noexcept {
    WEIR_ASSERT(is_block_hash(algorithm));
    switch (algorithm) {
        case Algorithm::md5: return md5;
        case Algorithm::sha1: return sha1;
        case Algorithm::sha224: return sha224;
        default: return sha256;
    }
}

std::size_t write_end(const BlockHash& hash, ConstData rest, std::uint64_t length,
                      std::span<std::byte, 2 * block_size> end) noexcept {
    const std::size_t blocks = rest.size() + 1 + sizeof length <= block_size ? 1 : 2;
    std::ranges::fill(end, std::byte{0});
    std::ranges::copy(rest, end.begin());
    end[rest.size()] = std::byte{0x80};
    const auto bits = length * 8;  // modulo 2^64
    const auto at = blocks * block_size - sizeof bits;
    if (hash.order == std::endian::little) {
        store_little<std::uint64_t>(end, at, bits);
    } else {
        store_big<std::uint64_t>(end, at, bits);
    }
    return blocks;
}

Digest digest_of(Algorithm algorithm, const BlockState& state) noexcept {
    const auto& hash = block_hash(algorithm);
    std::array<std::byte, sizeof state> bytes;
    for (std::size_t i = 0; i < hash.words; ++i) {
        if (hash.order == std::endian::little) {
            store_little<std::uint32_t>(bytes, 4 * i, state[i]);
        } else {
            store_big<std::uint32_t>(bytes, 4 * i, state[i]);
        }
    }
    return Digest::of_bytes(algorithm, ConstData(bytes).first(digest_size(algorithm)));
}

}  // namespace weir::digest
