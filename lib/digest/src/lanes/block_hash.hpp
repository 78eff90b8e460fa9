// SPDX-License-Identifier: Apache-2.0
// The common part of md5 (RFC 1321), sha1, sha256 and sha224, its shorter form (FIPS 180-4): a state of a few words
// takes blocks of 64 bytes, one after the other, and the last ones are filled up with a bit, zeros and the length.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "weir/base/data.hpp"
#include "weir/digest/digest.hpp"

namespace weir::digest {

inline constexpr std::size_t block_size = 64;

/// Room for the state of any of them; the words behind it are zero.
using BlockState = std::array<std::uint32_t, 8>;

struct BlockHash {
    std::size_t words;  // of the state
    BlockState initial;
    std::endian order;  // of the words in the data, in the length and in the value
};

/// md5, sha1, sha224 or sha256.
[[nodiscard]] const BlockHash& block_hash(Algorithm algorithm) noexcept;
[[nodiscard]] bool is_block_hash(Algorithm algorithm) noexcept;

/// Writes the end of `length` bytes into one or two blocks and returns how many. `rest` are the last bytes,
/// fewer than a block.
[[nodiscard]] std::size_t write_end(const BlockHash& hash, ConstData rest, std::uint64_t length,
                                    std::span<std::byte, 2 * block_size> end) noexcept;

[[nodiscard]] Digest digest_of(Algorithm algorithm, const BlockState& state) noexcept;

}  // namespace weir::digest
