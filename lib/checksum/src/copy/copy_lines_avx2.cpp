// SPDX-License-Identifier: Apache-2.0
// Stores around the cache, 32 bytes each.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx2")
namespace weir::checksum {
namespace {

#include "copy/copy_lines.hpp"

struct Avx2Line {
    static constexpr std::size_t width = 32;
    using Vector = __m256i;
    static Vector load(const std::byte* at) noexcept {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    }
    static void stream(std::byte* at, Vector v) noexcept { _mm256_stream_si256(reinterpret_cast<__m256i*>(at), v); }
};

}  // namespace

void copy_lines_avx2(std::byte* to, const std::byte* from, std::size_t size, std::size_t behind) noexcept {
    copy_lines_over<Avx2Line>(to, from, size, behind);
}

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
