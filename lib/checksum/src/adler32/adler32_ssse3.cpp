// SPDX-License-Identifier: Apache-2.0
// adler32 on SSSE3: vectors of 16 bytes.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>

#include "adler32/adler32_modulus.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("ssse3")
namespace weir::checksum {
namespace {

#include "adler32/adler32_columns.hpp"
#include "adler32/adler32_short_16.hpp"

struct Ssse3 {
    static constexpr std::size_t width = 16;
    using Vector = __m128i;

    static Vector load(const std::byte* at) noexcept { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
    static void keep(Vector& value) noexcept { __asm__("" : "+x"(value)); }
    static Vector zero() noexcept { return _mm_setzero_si128(); }
    static Vector both(Vector a, Vector b) noexcept { return _mm_and_si128(a, b); }
    static Vector column_sums(Vector bytes) noexcept { return _mm_maddubs_epi16(bytes, _mm_set1_epi8(1)); }
    static Vector second_bytes(Vector bytes) noexcept { return _mm_srli_epi16(bytes, 8); }
    static Vector add16(Vector a, Vector b) noexcept { return _mm_add_epi16(a, b); }
    static Vector sub16(Vector a, Vector b) noexcept { return _mm_sub_epi16(a, b); }
    static Vector add32(Vector a, Vector b) noexcept { return _mm_add_epi32(a, b); }
    static Vector widen(Vector columns, Vector factors) noexcept { return _mm_madd_epi16(columns, factors); }
    template <short value>
    static Vector all16() noexcept {
        return _mm_set1_epi16(value);
    }
    static Vector factors16() noexcept { return _mm_setr_epi16(16, 14, 12, 10, 8, 6, 4, 2); }
    static Vector quads_unsigned(Vector lanes) noexcept {
        const auto zeros = _mm_setzero_si128();
        return _mm_add_epi64(_mm_unpacklo_epi32(lanes, zeros), _mm_unpackhi_epi32(lanes, zeros));
    }
    static Vector quads_signed(Vector lanes) noexcept {
        const auto sign = _mm_srai_epi32(lanes, 31);
        return _mm_add_epi64(_mm_unpacklo_epi32(lanes, sign), _mm_unpackhi_epi32(lanes, sign));
    }
    static Vector add64(Vector a, Vector b) noexcept { return _mm_add_epi64(a, b); }
    template <unsigned factor>
    static Vector times(Vector quads) noexcept {
        static_assert(std::has_single_bit(factor));
        return _mm_slli_epi64(quads, std::countr_zero(factor));
    }
    static std::uint64_t total(Vector quads) noexcept {
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_add_epi64(quads, _mm_unpackhi_epi64(quads, quads))));
    }
};

constexpr std::size_t short_max = 768;

}  // namespace

std::uint32_t adler32_ssse3(ConstData data, std::uint32_t value) noexcept {
    if (data.size() <= short_max) return Adler32Short<Adler32Short16>::sum(data, value);
    return adler32_over<Adler32Columns<Ssse3>>(data, value);
}

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
