// SPDX-License-Identifier: Apache-2.0
// Vectors of 16 bytes on x86, for record_narrow_steps.hpp. Included by the files that bind it to an instruction set.

struct Xmm {
    static __m128i load(const void* at) noexcept { return _mm_loadu_si128(static_cast<const __m128i*>(at)); }
    static void store(void* at, __m128i bytes) noexcept { _mm_storeu_si128(static_cast<__m128i*>(at), bytes); }
    static __m128i shuffle(__m128i bytes, __m128i places) noexcept { return _mm_shuffle_epi8(bytes, places); }
    static __m128i zero() noexcept { return _mm_setzero_si128(); }
    static __m128i either(__m128i a, __m128i b) noexcept { return _mm_or_si128(a, b); }
    static __m128i both(__m128i a, __m128i b) noexcept { return _mm_and_si128(a, b); }
    static __m128i differ(__m128i a, __m128i b) noexcept { return _mm_xor_si128(a, b); }
    static bool any(__m128i bytes) noexcept { return _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, zero())) != 0xffff; }
};

/// Places that turn integers of 2, 4 or 8 bytes around.
inline __m128i turned_places(std::uint32_t integer) noexcept {
    return integer == 2   ? _mm_set_epi64x(0x0e0f0c0d0a0b0809, 0x0607040502030001)
           : integer == 4 ? _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203)
                          : _mm_set_epi64x(0x08090a0b0c0d0e0f, 0x0001020304050607);
}
