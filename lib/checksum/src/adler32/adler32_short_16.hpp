// SPDX-License-Identifier: Apache-2.0
// Vectors of 16 bytes for adler32_short.hpp: SSSE3, and the shortest messages of wider instruction sets. Included like
// it.
#pragma once

#include "adler32/adler32_short.hpp"

struct Adler32Short16 {
    static constexpr std::size_t width = 16;
    using Vector = __m128i;

    static Vector load(const void* at) noexcept { return _mm_loadu_si128(static_cast<const __m128i*>(at)); }
    static void keep(Vector& value) noexcept { __asm__("" : "+x"(value)); }
    static Vector mask(Vector a, Vector b) noexcept { return _mm_and_si128(a, b); }
    static Vector zero() noexcept { return _mm_setzero_si128(); }
    static Vector of_words(std::uint64_t first, std::uint64_t second) noexcept {
        return _mm_unpacklo_epi64(_mm_cvtsi64_si128(static_cast<long long>(first)),
                                  _mm_cvtsi64_si128(static_cast<long long>(second)));
    }
    static Vector byte_sums(Vector bytes) noexcept { return _mm_sad_epu8(bytes, _mm_setzero_si128()); }
    static Vector weigh(Vector bytes, Vector weights) noexcept {
        return _mm_madd_epi16(_mm_maddubs_epi16(bytes, weights), _mm_set1_epi16(1));
    }
    static Vector add(Vector a, Vector b) noexcept { return _mm_add_epi32(a, b); }
    template <unsigned factor>
    static Vector times(Vector lanes) noexcept {
        return _mm_slli_epi32(lanes, std::countr_zero(factor));
    }
    static std::uint64_t total(Vector sums, Vector weighted) noexcept {
        const auto pairs = _mm_add_epi32(weighted, _mm_srli_epi64(weighted, 32));
        const auto both = _mm_add_epi32(sums, _mm_slli_epi64(pairs, 32));
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_add_epi32(both, _mm_unpackhi_epi64(both, both))));
    }
};
