// SPDX-License-Identifier: Apache-2.0
// Stores around the cache with instructions of every x86-64.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace weir::checksum {
namespace {

#include "copy/copy_lines.hpp"

struct Sse2Line {
    static constexpr std::size_t width = 16;
    using Vector = __m128i;
    static Vector load(const std::byte* at) noexcept { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
    static void stream(std::byte* at, Vector v) noexcept { _mm_stream_si128(reinterpret_cast<__m128i*>(at), v); }
};

}  // namespace

void copy_lines_sse2(std::byte* to, const std::byte* from, std::size_t size, std::size_t behind) noexcept {
    copy_lines_over<Sse2Line>(to, from, size, behind);
}

}  // namespace weir::checksum
#endif
