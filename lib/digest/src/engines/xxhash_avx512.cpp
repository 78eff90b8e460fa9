// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx512f; called only where the processor has it. No other header with inline functions may stand
// here: the linker could keep this file's copies of them for all callers.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engines/xxhash_wide.hpp"

static_assert(XXH_VECTOR == XXH_AVX512);

namespace weir::digest {

std::uint64_t xxh3_64_avx512(const std::byte* data, std::size_t size) noexcept { return XXH3_64bits(data, size); }

Xxh3Value128 xxh3_128_avx512(const std::byte* data, std::size_t size) noexcept {
    const auto hash = XXH3_128bits(data, size);
    return {hash.high64, hash.low64};
}

}  // namespace weir::digest
