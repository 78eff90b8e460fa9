// SPDX-License-Identifier: Apache-2.0
// XXH3 at once, from the header of the xxHash library compiled here for one instruction set. The library's own
// "dispatch" symbols leave the upper halves of vector registers in use between two of their functions: on Intel every
// call then stalls for some 200 ns, more than 4 KiB take. (A state's calls are of long pieces: it is the library's.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::digest {

struct Xxh3Value128 {
    std::uint64_t high, low;
};

/// Only on a processor with AVX2, or AVX-512 (F).
[[nodiscard]] std::uint64_t xxh3_64_avx2(const std::byte* data, std::size_t size) noexcept;
[[nodiscard]] Xxh3Value128 xxh3_128_avx2(const std::byte* data, std::size_t size) noexcept;
[[nodiscard]] std::uint64_t xxh3_64_avx512(const std::byte* data, std::size_t size) noexcept;
[[nodiscard]] Xxh3Value128 xxh3_128_avx512(const std::byte* data, std::size_t size) noexcept;

}  // namespace weir::digest
