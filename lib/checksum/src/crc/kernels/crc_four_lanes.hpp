// SPDX-License-Identifier: Apache-2.0
// Four lanes of 128 bits in a vector of AVX-512, for crc_fold.hpp. Included by the files that bind the folding, within
// their anonymous namespace and between WEIR_TARGET_BEGIN and _END.
#pragma once

#include "crc/kernels/crc_lane_x86.hpp"

struct FourLanes {
    static constexpr std::size_t width = 64;
    static constexpr std::size_t columns = 4;
    // From memory, messages of 32 KiB a tenth and of 1 MiB a fifth faster on Emerald Rapids; those of 6 and 8 KiB a
    // sixth slower.
    static constexpr std::size_t prefetch_from = 16384;
    static constexpr std::size_t prefetch_ahead = 4096;
    static constexpr std::size_t two_ways_prefetch_ahead = 4096;
    static constexpr std::size_t crc32c_folds_from = 144;  // below, the crc32 instruction alone
    static constexpr std::size_t vectors_from = 64;
    using Lane = CrcLane;
    using Vector = __m512i;

    // Masks that let everything pass: g++ 12 warns about the plain forms, whose header leaves a value unset.
    static Vector all(__m128i lane) noexcept { return _mm512_maskz_broadcast_i32x4(0xffff, lane); }
    static __m128i first_lane(Vector v) noexcept { return _mm512_maskz_extracti32x4_epi32(0xf, v, 0); }
    /// With its halves exchanged, and with the lanes of each half exchanged.
    static Vector halves_exchanged(Vector v) noexcept { return _mm512_maskz_shuffle_i64x2(0xff, v, v, 0x4e); }
    static Vector lanes_exchanged(Vector v) noexcept { return _mm512_maskz_shuffle_i64x2(0xff, v, v, 0xb1); }
    template <bool reflected>
    static Vector load(const std::byte* at) noexcept {
        const auto bytes = _mm512_loadu_si512(at);
        return reflected ? bytes : _mm512_shuffle_epi8(bytes, all(Lane::reversed()));
    }
    static Vector add(Vector a, Vector b) noexcept { return _mm512_xor_si512(a, b); }
    static Vector constants(const void* at) noexcept { return _mm512_load_si512(at); }
    static Vector fold(Vector v, Vector by, Vector next) noexcept {
        constexpr int sum_of_three = 0x96;  // exclusive or, as a truth table
        return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(v, by, 0x00), _mm512_clmulepi64_epi128(v, by, 0x11),
                                         next, sum_of_three);
    }
    template <bool reflected>
    static Vector start(std::uint64_t half) noexcept {
        return _mm512_zextsi128_si512(Lane::start<reflected>(half));
    }
    /// The first three lanes are moved ahead to the last, each by its own distance. The last is masked from memory: a
    /// register for masks, and each lane that is taken out, has to wait for the unit that multiplies (Emerald Rapids:
    /// 256 bytes in the cache a tenth faster than with both).
    template <CrcSpec spec>
    static __m128i one_lane(Vector v) noexcept {
        using Constants = CrcConstants<spec>;
        struct alignas(64) Ahead {
            CrcPair by[4];
        };
        static constexpr Ahead ahead{Constants::ahead(48), Constants::ahead(32), Constants::ahead(16), {0, 0}};
        static constexpr Ahead last_lane{{{}, {}, {}, {~0ULL, ~0ULL}}};
        const auto moved = fold(v, _mm512_load_si512(&ahead), _mm512_and_si512(v, _mm512_load_si512(&last_lane)));
        const auto pairs = add(moved, halves_exchanged(moved));
        return first_lane(add(pairs, lanes_exchanged(pairs)));
    }
};
