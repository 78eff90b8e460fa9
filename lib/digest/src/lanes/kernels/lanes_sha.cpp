// SPDX-License-Identifier: Apache-2.0
// sha1 and sha256 by the SHA instructions of x86, for several streams side by side. One stream waits four to
// six cycles for each of these instructions, while the processor could begin one every two: two to four
// streams in turn fill the gaps. The dance of the registers is that of Intel's description of the instructions
// ("Intel SHA Extensions", 2013): sha256 keeps words a b e f and c d g h in two registers, sha1 a to d in
// one, and e where it is to be added. Words stand in falling order.
#include "lanes/kernels/lane_implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#include "lanes/kernels/sha256_constants.hpp"
#include "target.hpp"

WEIR_TARGET_BEGIN("sha,sse4.1")
namespace weir::digest {
namespace {

WEIR_INLINE __m128i load(const void* at) noexcept { return _mm_loadu_si128(static_cast<const __m128i*>(at)); }

/// Words i, j, k, l of lane `lane` of `lanes`, the first in the highest place.
WEIR_INLINE __m128i gather(const std::uint32_t* state, std::size_t lanes, std::size_t lane,
                           const int (&word)[4]) noexcept {
    alignas(16) std::uint32_t words[4];
    for (std::size_t i = 0; i < 4; ++i) words[3 - i] = state[static_cast<std::size_t>(word[i]) * lanes + lane];
    return load(words);
}
WEIR_INLINE void scatter(__m128i from, std::uint32_t* state, std::size_t lanes, std::size_t lane,
                         const int (&word)[4]) noexcept {
    alignas(16) std::uint32_t words[4];
    _mm_store_si128(reinterpret_cast<__m128i*>(words), from);
    for (std::size_t i = 0; i < 4; ++i) state[static_cast<std::size_t>(word[i]) * lanes + lane] = words[3 - i];
}

constexpr int abef[4] = {0, 1, 4, 5}, cdgh[4] = {2, 3, 6, 7};

template <std::size_t lanes>
struct Sha256Rounds {
    __m128i x[lanes], y[lanes], m[lanes][4];

    /// Rounds 4 i to 4 i + 3, and the words of the schedule for four rounds that are 16 later.
    template <std::size_t i>
    WEIR_INLINE void four() noexcept {
        const auto roots = load(sha256_roots + 4 * i);
        __m128i words[lanes];
        for (std::size_t l = 0; l < lanes; ++l) words[l] = _mm_add_epi32(m[l][i % 4], roots);
        for (std::size_t l = 0; l < lanes; ++l) y[l] = _mm_sha256rnds2_epu32(y[l], x[l], words[l]);
        for (std::size_t l = 0; l < lanes; ++l)
            x[l] = _mm_sha256rnds2_epu32(x[l], y[l], _mm_shuffle_epi32(words[l], 0x0e));
        if constexpr (i < 12) {
            for (std::size_t l = 0; l < lanes; ++l) {
                auto &now = m[l][i % 4], &last = m[l][(i + 3) % 4];
                const auto seven_back = _mm_alignr_epi8(last, m[l][(i + 2) % 4], 4);
                now =
                    _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(now, m[l][(i + 1) % 4]), seven_back), last);
            }
        }
    }
};

template <std::size_t lanes>
void sha256_blocks(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    const auto order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i sum_x[lanes], sum_y[lanes];
    for (std::size_t l = 0; l < lanes; ++l) {
        sum_x[l] = gather(state, lanes, l, abef);
        sum_y[l] = gather(state, lanes, l, cdgh);
    }
    for (std::size_t at = 0; at < blocks * 64; at += 64) {
        Sha256Rounds<lanes> r;
        for (std::size_t l = 0; l < lanes; ++l) {
            r.x[l] = sum_x[l];
            r.y[l] = sum_y[l];
            for (std::size_t i = 0; i < 4; ++i) r.m[l][i] = _mm_shuffle_epi8(load(data[l] + at + 16 * i), order);
        }
        [&]<std::size_t... i>(std::index_sequence<i...>)
            __attribute__((always_inline)) { (r.template four<i>(), ...); }(std::make_index_sequence<16>());
        for (std::size_t l = 0; l < lanes; ++l) {
            sum_x[l] = _mm_add_epi32(sum_x[l], r.x[l]);
            sum_y[l] = _mm_add_epi32(sum_y[l], r.y[l]);
        }
    }
    for (std::size_t l = 0; l < lanes; ++l) {
        scatter(sum_x[l], state, lanes, l, abef);
        scatter(sum_y[l], state, lanes, l, cdgh);
    }
}

constexpr int abcd[4] = {0, 1, 2, 3};

template <std::size_t lanes>
struct Sha1Rounds {
    __m128i x[lanes], e[lanes], m[lanes][4];

    template <std::size_t i>
    WEIR_INLINE void four() noexcept {
        __m128i words[lanes];
        for (std::size_t l = 0; l < lanes; ++l) {
            if constexpr (i == 0) {
                words[l] = _mm_add_epi32(e[l], m[l][0]);
            } else {  // e is the a of four rounds before, turned
                words[l] = _mm_sha1nexte_epu32(e[l], m[l][i % 4]);
            }
            e[l] = x[l];
        }
        for (std::size_t l = 0; l < lanes; ++l) x[l] = _mm_sha1rnds4_epu32(x[l], words[l], i / 5);
        if constexpr (i < 16) {
            for (std::size_t l = 0; l < lanes; ++l) {
                auto &now = m[l][i % 4], &next = m[l][(i + 1) % 4], &last = m[l][(i + 3) % 4];
                now = _mm_sha1msg2_epu32(_mm_xor_si128(_mm_sha1msg1_epu32(now, next), m[l][(i + 2) % 4]), last);
            }
        }
    }
};

template <std::size_t lanes>
void sha1_blocks(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    const auto order = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
    __m128i sum_x[lanes], sum_e[lanes];
    for (std::size_t l = 0; l < lanes; ++l) {
        sum_x[l] = gather(state, lanes, l, abcd);
        sum_e[l] = _mm_set_epi32(static_cast<int>(state[4 * lanes + l]), 0, 0, 0);
    }
    for (std::size_t at = 0; at < blocks * 64; at += 64) {
        Sha1Rounds<lanes> r;
        for (std::size_t l = 0; l < lanes; ++l) {
            r.x[l] = sum_x[l];
            r.e[l] = sum_e[l];
            for (std::size_t i = 0; i < 4; ++i) r.m[l][i] = _mm_shuffle_epi8(load(data[l] + at + 16 * i), order);
        }
        [&]<std::size_t... i>(std::index_sequence<i...>)
            __attribute__((always_inline)) { (r.template four<i>(), ...); }(std::make_index_sequence<20>());
        for (std::size_t l = 0; l < lanes; ++l) {
            sum_e[l] = _mm_sha1nexte_epu32(r.e[l], sum_e[l]);
            sum_x[l] = _mm_add_epi32(sum_x[l], r.x[l]);
        }
    }
    for (std::size_t l = 0; l < lanes; ++l) {
        scatter(sum_x[l], state, lanes, l, abcd);
        state[4 * lanes + l] = static_cast<std::uint32_t>(_mm_extract_epi32(sum_e[l], 3));
    }
}

}  // namespace

void sha1_sha_2(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    sha1_blocks<2>(state, data, blocks);
}
void sha1_sha_4(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    sha1_blocks<4>(state, data, blocks);
}
void sha256_sha_2(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    sha256_blocks<2>(state, data, blocks);
}
void sha256_sha_3(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    sha256_blocks<3>(state, data, blocks);
}

}  // namespace weir::digest
WEIR_TARGET_END
#endif
