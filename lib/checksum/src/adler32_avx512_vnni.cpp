// SPDX-License-Identifier: Apache-2.0
// adler32 on AVX-512 with VNNI. vpdpbusd multiplies unsigned by signed bytes and adds four products to a
// lane of 32 bits, so the sums (factors of one) and the weighted bytes need one instruction a vector
// each. A unit is two vectors, 128 bytes. The factors are signed and end at 127, so the first byte gets 127 of
// its 128, and extra_weight the rest.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <cstring>

#include "adler32_modulus.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")
namespace weir::checksum {
namespace {

#include "adler32_dots.hpp"

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

std::uint32_t copy_adler32_avx512_vnni(std::byte* to, const std::byte* from, std::size_t size, std::uint32_t value) noexcept {
    return adler32_over<Adler32Dots<Avx512Vnni>>({from, size}, value, StreamUnits{to, from});
}

std::uint32_t adler32_avx512_vnni(ConstData data, std::uint32_t value) noexcept {
    return adler32_over<Adler32Dots<Avx512Vnni>>(data, value);
}

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
