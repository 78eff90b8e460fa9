// SPDX-License-Identifier: Apache-2.0
// adler32 on AVX2: vectors of 32 bytes.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>

#include "adler32/adler32_modulus.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx2")
namespace weir::checksum {
namespace {

#include "adler32/adler32_columns.hpp"
#include "adler32/adler32_short_16.hpp"

struct Avx2 {
    static constexpr std::size_t width = 32;
    using Vector = __m256i;

    static Vector load(const std::byte* at) noexcept {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    }
    static void keep(Vector& value) noexcept { __asm__("" : "+x"(value)); }
    static Vector zero() noexcept { return _mm256_setzero_si256(); }
    static Vector both(Vector a, Vector b) noexcept { return _mm256_and_si256(a, b); }
    static Vector column_sums(Vector bytes) noexcept { return _mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1)); }
    static Vector second_bytes(Vector bytes) noexcept { return _mm256_srli_epi16(bytes, 8); }
    static Vector add16(Vector a, Vector b) noexcept { return _mm256_add_epi16(a, b); }
    static Vector sub16(Vector a, Vector b) noexcept { return _mm256_sub_epi16(a, b); }
    static Vector add32(Vector a, Vector b) noexcept { return _mm256_add_epi32(a, b); }
    static Vector widen(Vector columns, Vector factors) noexcept { return _mm256_madd_epi16(columns, factors); }
    template <short value>
    static Vector all16() noexcept {
        return _mm256_set1_epi16(value);
    }
    static Vector factors16() noexcept {
        return _mm256_setr_epi16(32, 30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2);
    }
    static Vector quads_unsigned(Vector lanes) noexcept {  // lanes 0 and 1, 2 and 3, ... added
        const auto even = _mm256_and_si256(lanes, _mm256_set1_epi64x(0xffffffff));
        return _mm256_add_epi64(even, _mm256_srli_epi64(lanes, 32));
    }
    static Vector quads_signed(Vector lanes) noexcept {
        return _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(lanes)),
                                _mm256_cvtepi32_epi64(_mm256_extracti128_si256(lanes, 1)));
    }
    static Vector add64(Vector a, Vector b) noexcept { return _mm256_add_epi64(a, b); }
    template <unsigned factor>
    static Vector times(Vector quads) noexcept {
        static_assert(std::has_single_bit(factor));
        return _mm256_slli_epi64(quads, std::countr_zero(factor));
    }
    static std::uint64_t total(Vector quads) noexcept {
        const auto half = _mm_add_epi64(_mm256_castsi256_si128(quads), _mm256_extracti128_si256(quads, 1));
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half))));
    }
};

/// For adler32_short.hpp.
struct Short {
    static constexpr std::size_t width = 32;
    using Vector = __m256i;

    static Vector load(const void* at) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }
    static void keep(Vector& value) noexcept { __asm__("" : "+x"(value)); }
    static Vector mask(Vector a, Vector b) noexcept { return _mm256_and_si256(a, b); }
    static Vector zero() noexcept { return _mm256_setzero_si256(); }
    static Vector byte_sums(Vector bytes) noexcept { return _mm256_sad_epu8(bytes, _mm256_setzero_si256()); }
    static Vector weigh(Vector bytes, Vector weights) noexcept {
        return _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, weights), _mm256_set1_epi16(1));
    }
    static Vector add(Vector a, Vector b) noexcept { return _mm256_add_epi32(a, b); }
    template <unsigned factor>
    static Vector times(Vector lanes) noexcept {
        return _mm256_slli_epi32(lanes, std::countr_zero(factor));
    }
    static std::uint64_t total(Vector sums, Vector weighted) noexcept {
        const auto pairs = _mm256_add_epi32(weighted, _mm256_srli_epi64(weighted, 32));
        const auto both = _mm256_add_epi32(sums, _mm256_slli_epi64(pairs, 32));
        const auto half = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_add_epi32(half, _mm_unpackhi_epi64(half, half))));
    }
};

constexpr std::size_t shortest = 64;  // below, half a vector is as fast, and needs no clearing of upper halves
constexpr std::size_t short_max = 1536;

template <bool prefetch>
[[gnu::always_inline]] inline std::uint32_t sum(ConstData data, std::uint32_t value) noexcept {
    if (data.size() < shortest) return Adler32Short<Adler32Short16>::sum(data, value);
    if (data.size() <= short_max) return Adler32Short<Short>::sum(data, value);
    return adler32_over<Adler32Columns<Avx2>, prefetch>(data, value);
}

}  // namespace

std::uint32_t adler32_avx2(ConstData data, std::uint32_t value) noexcept { return sum<false>(data, value); }
std::uint32_t adler32_avx2_prefetch(ConstData data, std::uint32_t value) noexcept { return sum<true>(data, value); }

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
