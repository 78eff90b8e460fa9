// SPDX-License-Identifier: Apache-2.0
// adler32 on AVX-512 with VNNI. vpdpbusd multiplies unsigned by signed bytes and adds four products to a
// lane of 32 bits, so the sums (factors of one) and the weighted bytes need one instruction a vector each, and nothing
// is added but the sums before each turn. Four vectors are summed side by side, so that no instruction waits for the
// one before. The bytes that do not fill a vector come first, with the weights that they have at their end, and then
// the vectors that do not fill a turn: a message may begin with zeros. Up to 512 bytes one chain is faster, because its
// lanes need no more than one reduction; all that is short has one, of both sums at once.
//
// Lines are asked for ahead only where that helps (CpuFeatures::prefetch_helps): Emerald Rapids reads a sixth faster
// from memory with it, Zen 5 a third faster without.
//
// A copy on the way takes units of two vectors, 128 bytes (adler32_dots.hpp). The factors are signed and end at 127, so
// the first byte gets 127 of its 128, and extra_weight the rest.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <cstring>

#include "adler32/adler32_modulus.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,bmi2")
namespace weir::checksum {
namespace {

#include "adler32/adler32_dots.hpp"
#include "keep_in_register.hpp"

alignas(64) constexpr auto factors = [] {  // 127 ... 0
    std::array<std::int8_t, 128> places{};
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int8_t>(127 - i);
    return places;
}();

struct Avx512Vnni {
    static constexpr std::size_t width = 128;
    static constexpr std::uint64_t extra_weight = 1;
    static constexpr std::uint32_t sum_max = 2 * 4 * 255;
    static constexpr std::uint32_t weigh_max = 255 * (127 + 126 + 125 + 124 + 63 + 62 + 61 + 60);

    using Lane32 = __m512i;
    struct Unit {
        __m512i first, second;
    };

    static Unit load(const std::byte* at) noexcept { return {_mm512_loadu_si512(at), _mm512_loadu_si512(at + 64)}; }
    static Unit mask(const Unit& a, const Unit& b) noexcept {
        return {_mm512_and_si512(a.first, b.first), _mm512_and_si512(a.second, b.second)};
    }
    static Lane32 zero() noexcept { return _mm512_setzero_si512(); }
    static Lane32 add(Lane32 x, Lane32 y) noexcept { return _mm512_add_epi32(x, y); }
    // The chains start from zero and are added afterwards: else a unit would wait for the one before.
    static Lane32 sum(const Unit& bytes) noexcept {
        const auto ones = _mm512_set1_epi8(1);
        return _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(zero(), bytes.first, ones), bytes.second, ones);
    }
    static Lane32 weigh(const Unit& bytes) noexcept {
        return _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(zero(), bytes.first, _mm512_load_si512(factors.data())),
                                   bytes.second, _mm512_load_si512(factors.data() + 64));
    }
    static std::uint64_t total(Lane32 lanes) noexcept {
        const auto even = _mm512_and_si512(lanes, _mm512_set1_epi64(0xffffffff));
        const auto odd = _mm512_srli_epi64(lanes, 32);
        return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(_mm512_add_epi64(even, odd)));
    }
};

constexpr std::size_t vector_width = 64;

alignas(64) constexpr auto weights = [] {  // 64 ... 1, then zeros
    std::array<std::int8_t, 2 * vector_width> places{};
    for (std::size_t i = 0; i < vector_width; ++i) places[i] = static_cast<std::int8_t>(vector_width - i);
    return places;
}();

/// The first 1 to 63 bytes, in lanes that are empty: their sum in lanes of 64 bits, and weighted in lanes of 32.
[[gnu::always_inline]] inline void take_rest(const std::byte* at, std::size_t rest, __m512i& sum,
                                             __m512i& weighted) noexcept {
    const auto bytes = _mm512_maskz_loadu_epi8(_bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(rest)), at);
    sum = _mm512_sad_epu8(bytes, _mm512_setzero_si512());
    weighted =
        _mm512_dpbusd_epi32(_mm512_setzero_si512(), bytes, _mm512_loadu_si512(weights.data() + (vector_width - rest)));
}

/// A message up to here: no sum of all lanes reaches 2^32, so lanes may overflow and the totals are still right.
constexpr std::size_t short_max = 4096;
static_assert(std::uint64_t{255} * short_max * (short_max + 1) / 2 + (short_max + 1) * 65535 < std::uint64_t{1} << 32);

/// `sums` has the total in each lane of 64 bits, `weighted` in each of 32. Both are added up at once, in the two halves
/// of a word.
[[gnu::always_inline]] inline std::uint32_t short_end(__m512i sums, __m512i weighted, std::size_t size,
                                                      std::uint32_t value) noexcept {
    const auto pairs = _mm512_add_epi32(weighted, _mm512_slli_epi64(weighted, 32));  // their sum in the upper halves
    const auto both = _mm512_mask_blend_epi32(0xaaaa, sums, pairs);
    const auto half = _mm256_add_epi32(_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64(both, 1));
    const auto quarter = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    const auto totals =
        static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_add_epi32(quarter, _mm_unpackhi_epi64(quarter, quarter))));
    const std::uint32_t low = value & 0xffff;
    const std::uint32_t high =
        (value >> 16) + static_cast<std::uint32_t>(size) * low + static_cast<std::uint32_t>(totals >> 32);
    return high % adler32_modulus << 16 | (low + static_cast<std::uint32_t>(totals)) % adler32_modulus;
}

constexpr std::size_t one_chain_max = 512;

/// Of one_chain_max bytes at most.
[[gnu::always_inline]] inline std::uint32_t one_chain(ConstData data, std::uint32_t value) noexcept {
    const std::byte* at = data.data();
    const std::byte* const end = at + data.size();
    auto sums = _mm512_setzero_si512(), weighted = _mm512_setzero_si512();
    if (const std::size_t rest = data.size() % vector_width; rest != 0) {
        take_rest(at, rest, sums, weighted);
        at += rest;
    }
    if (at != end) {
        auto before = _mm512_setzero_si512();  // the sum of `sums` before each vector
        do {
            const auto bytes = _mm512_loadu_si512(at);
            before = _mm512_add_epi32(before, sums);
            sums = _mm512_add_epi32(sums, _mm512_sad_epu8(bytes, _mm512_setzero_si512()));
            weighted = _mm512_dpbusd_epi32(weighted, bytes, _mm512_load_si512(weights.data()));
            at += vector_width;
        } while (at != end);
        weighted = _mm512_add_epi32(weighted, _mm512_slli_epi64(before, 6));
    }
    return short_end(sums, weighted, data.size(), value);
}

class Chains {
    static constexpr std::size_t width = vector_width;
    static constexpr std::size_t columns = 4;
    static constexpr std::size_t turn = columns * width;
    // A lane of `sums` grows by 4 * 255 a turn, so one of `before` by that times n^2 / 2 in n turns (and what came
    // before them, three vectors and a part of one, each time); one of `weighted` by the products of the largest
    // weights.
    static constexpr std::size_t turns_max = 2048;
    static_assert(std::uint64_t{4 * 255} * (turns_max + columns) * (turns_max + columns) < std::uint64_t{1} << 32);
    static_assert(std::uint64_t{255 * (64 + 63 + 62 + 61)} * (turns_max + columns) < std::uint64_t{1} << 31);

public:
    // A function of its own: else its stack is laid out for one_chain() too, which needs none.
    template <bool prefetch>
    [[gnu::noinline]] static std::uint32_t sum(ConstData data, std::uint32_t value) noexcept {
        const std::byte* at = data.data();
        const std::byte* const end = at + data.size();
        Chains lanes;
        if (data.size() <= short_max) {
            lanes.take_first(at, data.size());
            for (; at != end; at += turn) lanes.take_turn<false>(at);
            return short_end(lanes.short_sums(), lanes.short_weighted(), data.size(), value);
        }
        std::uint64_t low = value & 0xffff;
        std::uint64_t high = value >> 16;
        const std::byte* begin = at;
        lanes.take_first(at, data.size());
        while (true) {
            std::size_t turns = static_cast<std::size_t>(end - at) / turn;
            if (turns > turns_max) turns = turns_max;
            if constexpr (prefetch) {
                for (; turns != 0 && static_cast<std::size_t>(end - at) >= turn + adler32_prefetch_ahead;
                     --turns, at += turn)
                    lanes.take_turn<true>(at);
            }
            for (; turns != 0; --turns, at += turn) lanes.take_turn<false>(at);
            adler32_fold(lanes.totals(), static_cast<std::uint64_t>(at - begin), low, high);
            low %= adler32_modulus;
            high %= adler32_modulus;
            if (at == end) return static_cast<std::uint32_t>(high << 16 | low);
            begin = at;
            lanes = Chains();
        }
    }

private:
    using Vector = __m512i;

    // Written out, because an implicit constructor would be compiled without the instruction set.
    Chains() noexcept
        : sums_{_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()},
          before_{_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()},
          weighted_{_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()} {}

    /// Adds the bytes that exceed whole turns to the last column, and moves `at` behind them.
    [[gnu::always_inline]] void take_first(const std::byte*& at, std::size_t size) noexcept {
        auto& sum = sums_[columns - 1];
        auto& weighted = weighted_[columns - 1];
        if (const std::size_t rest = size % width; rest != 0) {
            take_rest(at, rest, sum, weighted);
            at += rest;
        }
        auto before = _mm512_setzero_si512();
        for (std::size_t vectors = size % turn / width; vectors != 0; --vectors, at += width) {
            before = _mm512_add_epi32(before, sum);
            take(sum, weighted, _mm512_loadu_si512(at));
        }
        weighted = _mm512_add_epi32(weighted, _mm512_slli_epi32(before, 6));
    }

    [[gnu::always_inline]] static void take(Vector& sum, Vector& weighted, Vector bytes) noexcept {
        sum = _mm512_dpbusd_epi32(sum, bytes, _mm512_set1_epi8(1));
        weighted = _mm512_dpbusd_epi32(weighted, bytes, _mm512_load_si512(weights.data()));
    }

    template <bool prefetch>
    [[gnu::always_inline]] void take_turn(const std::byte* at) noexcept {
#pragma GCC unroll 4
        for (std::size_t i = 0; i < columns; ++i) {
            if constexpr (prefetch) __builtin_prefetch(at + i * width + adler32_prefetch_ahead);
            auto bytes = _mm512_loadu_si512(at + i * width);
            keep_in_register(bytes);
            before_[i] = _mm512_add_epi32(before_[i], sums_[i]);
            take(sums_[i], weighted_[i], bytes);
        }
#pragma GCC unroll 4
        for (std::size_t i = 0; i < columns; ++i) {
            keep_in_register(sums_[i]);
            keep_in_register(before_[i]);
            keep_in_register(weighted_[i]);
        }
    }

    /// Of the four columns, whose vectors lie one behind the other in a turn: those of the first weigh three widths
    /// more than `weighted` has, and so on.
    [[nodiscard]] Vector in_turn() const noexcept {
        const auto first_two = _mm512_add_epi32(sums_[0], sums_[1]);
        return _mm512_add_epi32(_mm512_add_epi32(first_two, first_two), _mm512_add_epi32(sums_[0], sums_[2]));
    }
    [[nodiscard]] static Vector of_all(const Vector* columns_of) noexcept {
        return _mm512_add_epi32(_mm512_add_epi32(columns_of[0], columns_of[1]),
                                _mm512_add_epi32(columns_of[2], columns_of[3]));
    }
    // For short_end().
    [[nodiscard]] Vector short_sums() const noexcept {
        const auto all = of_all(sums_);
        return _mm512_add_epi32(all, _mm512_srli_epi64(all, 32));  // what is left in the upper halves is not read
    }
    [[nodiscard]] Vector short_weighted() const noexcept {
        const auto turns = _mm512_slli_epi32(of_all(before_), 8);
        const auto places = _mm512_slli_epi32(in_turn(), 6);
        return _mm512_add_epi32(_mm512_add_epi32(turns, places), of_all(weighted_));
    }

    [[nodiscard]] Adler32Totals totals() const noexcept {
        std::uint64_t sum = 0, before = 0, weighted = 0, places = 0;
        for (std::size_t i = 0; i < columns; ++i) {
            const std::uint64_t of_column = Avx512Vnni::total(sums_[i]);
            sum += of_column;
            places += (columns - 1 - i) * of_column;
            before += Avx512Vnni::total(before_[i]);
            weighted += Avx512Vnni::total(weighted_[i]);
        }
        return {sum, turn * before + width * places + weighted};
    }

    Vector sums_[columns], before_[columns], weighted_[columns];
};

struct StreamUnits {
    std::byte* to;
    const std::byte* from;

    void operator()(const std::byte* at, const Avx512Vnni::Unit& unit) const noexcept {
        auto* const place = reinterpret_cast<__m512i*>(to + (at - from));
        _mm512_stream_si512(place, unit.first);
        _mm512_stream_si512(place + 1, unit.second);
    }
};

}  // namespace

std::uint32_t copy_adler32_avx512_vnni(std::byte* to, const std::byte* from, std::size_t size,
                                       std::uint32_t value) noexcept {
    return adler32_over<Adler32Dots<Avx512Vnni>>({from, size}, value, StreamUnits{to, from});
}

std::uint32_t adler32_avx512_vnni(ConstData data, std::uint32_t value) noexcept {
    return data.size() <= one_chain_max ? one_chain(data, value) : Chains::sum<false>(data, value);
}

std::uint32_t adler32_avx512_vnni_prefetch(ConstData data, std::uint32_t value) noexcept {
    return data.size() <= one_chain_max ? one_chain(data, value) : Chains::sum<true>(data, value);
}

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
