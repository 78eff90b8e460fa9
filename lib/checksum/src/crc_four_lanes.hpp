// SPDX-License-Identifier: Apache-2.0
// Four lanes of 128 bits in a vector of AVX-512, for crc_fold.hpp. Included by the files that bind the folding, within
// their anonymous namespace and between WEIR_TARGET_BEGIN and _END.
#pragma once

#include "crc_lane_x86.hpp"

struct FourLanes {
    static constexpr std::size_t width = 64;
    static constexpr std::size_t columns = 4;
    static constexpr std::size_t prefetch_from = 0;
    static constexpr std::size_t two_ways_prefetch_ahead = 4096;
    static constexpr std::size_t prefetch_ahead = 4096;  // from memory a sixth faster on Emerald Rapids
    static constexpr std::size_t crc32c_folds_from = 144;  // below, the crc32 instruction alone
    static constexpr std::size_t vectors_from = 64;
    using Lane = CrcLane;
    using Vector = __m512i;

    // Masks that let everything pass: g++ 12 warns about the plain forms, whose header leaves a value unset.
    static Vector all(__m128i lane) noexcept { return _mm512_maskz_broadcast_i32x4(0xffff, lane); }
    template <int number>
    static __m128i lane(Vector v) noexcept {
        return _mm512_maskz_extracti32x4_epi32(0xf, v, number);
    }
    template <bool reflected>
    static Vector load(const std::byte* at) noexcept {
        const auto bytes = _mm512_loadu_si512(at);
        return reflected ? bytes : _mm512_shuffle_epi8(bytes, all(Lane::reversed()));
    }
    static Vector add(Vector a, Vector b) noexcept { return _mm512_xor_si512(a, b); }
    static Vector constants(const void* at) noexcept { return _mm512_load_si512(at); }
    static Vector fold(Vector v, Vector by, Vector next) noexcept {
        constexpr int sum_of_three = 0x96;  // exclusive or, as a truth table
        return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(v, by, 0x00),
                                         _mm512_clmulepi64_epi128(v, by, 0x11), next, sum_of_three);
    }
    template <bool reflected>
    static Vector start(std::uint64_t half) noexcept {
        return _mm512_zextsi128_si512(Lane::start<reflected>(half));
    }
    /// The first three lanes are moved ahead to the last, each by its own distance.
    template <CrcSpec spec>
    static __m128i one_lane(Vector v) noexcept {
        using Constants = CrcConstants<spec>;
        struct alignas(64) Ahead {
            CrcPair by[4];
        };
        static constexpr Ahead ahead{Constants::ahead(48), Constants::ahead(32), Constants::ahead(16), {0, 0}};
        constexpr __mmask8 last_lane = 0xc0;
        const auto moved = fold(v, _mm512_load_si512(&ahead), _mm512_maskz_mov_epi64(last_lane, v));
        return Lane::add(Lane::add(lane<0>(moved), lane<1>(moved)), Lane::add(lane<2>(moved), lane<3>(moved)));
    }
};
