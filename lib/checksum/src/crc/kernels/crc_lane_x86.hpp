// SPDX-License-Identifier: Apache-2.0
// One lane of 128 bits on x86-64, for crc_fold.hpp; what every vector width ends with. Included by the files that
// bind the folding, within their anonymous namespace and between WEIR_TARGET_BEGIN and _END.
#pragma once

/// shuffle(v, load at 16 + n) moves the bytes of v down by n, at 16 - n up by n; zeros come in.
struct CrcMoves {
    std::uint8_t places[48];
};
alignas(64) constexpr CrcMoves crc_moves = [] {
    CrcMoves moves{};
    for (std::size_t i = 0; i < 48; ++i) moves.places[i] = static_cast<std::uint8_t>(i / 16 == 1 ? i - 16 : 0x80);
    return moves;
}();

struct CrcLane {
    static constexpr std::size_t width = 16;
    static constexpr std::size_t columns = 8;  // older processors wait seven cycles for a product
    static constexpr std::size_t crc32c_folds_from = 16;
    static constexpr std::size_t vectors_from = 16;
    static constexpr std::size_t prefetch_ahead = 0;  // the processor's own is enough at this speed
    using Lane = CrcLane;
    using Vector = __m128i;

    static Vector load_bytes(const void* at) noexcept { return _mm_loadu_si128(static_cast<const __m128i*>(at)); }
    static Vector reversed() noexcept { return _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0); }
    template <bool reflected>
    static Vector load(const std::byte* at) noexcept {
        return reflected ? load_bytes(at) : _mm_shuffle_epi8(load_bytes(at), reversed());
    }
    static Vector add(Vector a, Vector b) noexcept { return _mm_xor_si128(a, b); }
    static Vector constants(const void* at) noexcept { return _mm_load_si128(static_cast<const __m128i*>(at)); }
    static Vector fold(Vector v, Vector by, Vector next) noexcept {
        return add(add(_mm_clmulepi64_si128(v, by, 0x00), _mm_clmulepi64_si128(v, by, 0x11)), next);
    }
    /// Of the low halves.
    static Vector product(Vector a, Vector b) noexcept { return _mm_clmulepi64_si128(a, b, 0x00); }
    static Vector low(std::uint64_t half) noexcept { return _mm_cvtsi64_si128(static_cast<long long>(half)); }
    static std::uint64_t low_of(Vector v) noexcept { return static_cast<std::uint64_t>(_mm_cvtsi128_si64(v)); }
    static std::uint64_t high_of(Vector v) noexcept { return low_of(_mm_unpackhi_epi64(v, v)); }

    /// A lane, whose first half has the higher powers of x.
    template <bool reflected>
    static Vector of_halves(std::uint64_t first, std::uint64_t second) noexcept {
        return reflected ? _mm_unpacklo_epi64(low(first), low(second)) : _mm_unpacklo_epi64(low(second), low(first));
    }

    /// A lane of which only the half with the first bytes is not zero.
    template <bool reflected>
    static Vector start(std::uint64_t half) noexcept {
        return reflected ? low(half) : _mm_slli_si128(low(half), 8);
    }
    template <CrcSpec>
    static Vector one_lane(Vector v) noexcept {
        return v;
    }

    /// The first `count` bytes of the lane, moved to its end: what count further bytes push out of it.
    template <bool reflected>
    static Vector first_bytes(Vector v, std::size_t count) noexcept {
        const std::size_t by = width - count;
        return _mm_shuffle_epi8(v, load_bytes(crc_moves.places + (reflected ? width - by : width + by)));
    }

    /// The lane without its first `count` bytes, and behind them the last `count` bytes of `last`.
    template <bool reflected>
    static Vector shift_in(Vector v, Vector last, std::size_t count) noexcept {
        const auto moves = load_bytes(crc_moves.places + (reflected ? width + count : width - count));
        return _mm_blendv_epi8(_mm_shuffle_epi8(v, moves), last, moves);  // the high bit is set where a zero came in
    }

    /// The lane times x^64 modulo M, as half a lane (crc_constants.hpp).
    template <CrcSpec spec>
    static std::uint64_t reduce(Vector v) noexcept {
        using Constants = CrcConstants<spec>;
        if constexpr (spec == crc32c_spec) {  // which is what its instruction does with eight bytes
            return _mm_crc32_u64(_mm_crc32_u64(0, low_of(v)), high_of(v));
        } else if constexpr (spec.reflected) {
            const auto ahead = _mm_clmulepi64_si128(v, low(Constants::first_half_ahead), 0x00);
            return reduce_product<spec>(add(ahead, _mm_srli_si128(v, 8)));
        } else {
            const auto ahead = _mm_clmulepi64_si128(v, low(Constants::first_half_ahead), 0x01);
            return reduce_product<spec>(add(ahead, _mm_slli_si128(v, 8)));
        }
    }

    /// The lane modulo M.
    template <CrcSpec spec>
    static std::uint64_t reduce_product(Vector v) noexcept {
        using Constants = CrcConstants<spec>;
        const auto constants =
            _mm_set_epi64x(static_cast<long long>(Constants::modulus), static_cast<long long>(Constants::quotient));
        if constexpr (spec.reflected) {
            const auto times = _mm_clmulepi64_si128(v, constants, 0x00);
            auto result = add(v, _mm_clmulepi64_si128(times, constants, 0x10));
            if constexpr (Constants::modulus_has_one) result = add(result, _mm_slli_si128(times, 8));
            return high_of(result);
        } else {
            const auto times = add(v, _mm_clmulepi64_si128(v, constants, 0x01));
            return low_of(add(v, _mm_clmulepi64_si128(times, constants, 0x11)));
        }
    }
};
