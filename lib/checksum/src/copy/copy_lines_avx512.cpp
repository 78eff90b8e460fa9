// SPDX-License-Identifier: Apache-2.0
// Stores around the cache, 64 bytes each: a whole line at once.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx512f")
namespace weir::checksum {
namespace {

#include "copy/copy_lines.hpp"

struct Avx512Line {
    static constexpr std::size_t width = 64;
    using Vector = __m512i;
    static Vector load(const std::byte* at) noexcept { return _mm512_loadu_si512(at); }
    static void stream(std::byte* at, Vector v) noexcept { _mm512_stream_si512(reinterpret_cast<__m512i*>(at), v); }
};

}  // namespace

void copy_lines_avx512(std::byte* to, const std::byte* from, std::size_t size, std::size_t behind) noexcept {
    copy_lines_over<Avx512Line>(to, from, size, behind);
}

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
