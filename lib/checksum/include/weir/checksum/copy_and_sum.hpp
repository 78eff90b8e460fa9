// SPDX-License-Identifier: Apache-2.0
// Copies bytes to their place and sums them in the same loop: a byte is loaded once where there is AVX-512, and
// else a second time from the cache (blocks of 4 KiB: summed, then copied). With stores that go around the cache the
// sum is free: the loop runs at the speed of the copy alone, and the copy is faster than memcpy, which reads the
// target's lines before it writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/base/data.hpp"

namespace weir::checksum {

enum class Stores {
    ordinary,     // the copy stays in the cache: right when another core reads it at once
    non_temporal  // around the cache: right when a disk or a network card reads it next, or it is not read soon
};

inline constexpr std::size_t copy_block_size = 4096;

/// Copies and returns adler32(from, value). Sizes are equal and the ranges do not overlap; any alignment.
/// On return other threads that synchronise with the caller see the copy, with either kind of store.
[[nodiscard]] std::uint32_t copy_adler32(MutableData to, ConstData from, std::uint32_t value, Stores stores) noexcept;

/// The same with crc32c(from, value).
[[nodiscard]] std::uint32_t copy_crc32c(MutableData to, ConstData from, std::uint32_t value, Stores stores) noexcept;

/// The copy alone.
void copy_only(MutableData to, ConstData from, Stores stores) noexcept;

/// How non-temporal stores are made in this process: "avx512", "avx2", "sse2", or "memcpy" where there are none.
[[nodiscard]] std::string_view non_temporal_name() noexcept;

}  // namespace weir::checksum
