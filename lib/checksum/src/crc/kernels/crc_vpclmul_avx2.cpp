// SPDX-License-Identifier: Apache-2.0
// CRCs with the carry-less multiplication of two lanes: vectors of 32 bytes.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>

#include "crc/crc_constants.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx2,sse4.2,pclmul,vpclmulqdq")
namespace weir::checksum {
namespace {

#include "crc/kernels/crc32c_two_ways.hpp"
#include "crc/kernels/crc_fold.hpp"
#include "crc/kernels/crc_lane_x86.hpp"

struct TwoLanes {
    static constexpr std::size_t width = 32;
    static constexpr std::size_t columns = 4;  // more are no faster on long messages and slower on short ones
    // From memory a fifth faster on Zen 3, with the crc32 instruction beside it a half; in its caches the same.
    // Messages of 4 to 8 KiB would be a tenth to a third slower: what is asked for ahead in them disturbs the
    // processor's own.
    static constexpr std::size_t prefetch_from = 16384;
    static constexpr std::size_t prefetch_ahead = 3072;
    static constexpr std::size_t two_ways_prefetch_ahead = 6144;  // than with 3072 a tenth faster on Zen 3
    // Below, the crc32 instruction alone has done it sooner.
    static constexpr std::size_t crc32c_folds_from = 128;
    static constexpr std::size_t vectors_from = 64;
    using Lane = CrcLane;
    using Vector = __m256i;

    static Vector both(__m128i lane) noexcept { return _mm256_broadcastsi128_si256(lane); }
    template <bool reflected>
    static Vector load(const std::byte* at) noexcept {
        const auto bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
        return reflected ? bytes : _mm256_shuffle_epi8(bytes, both(Lane::reversed()));
    }
    static Vector add(Vector a, Vector b) noexcept { return _mm256_xor_si256(a, b); }
    static Vector constants(const void* at) noexcept { return _mm256_load_si256(static_cast<const __m256i*>(at)); }
    static Vector fold(Vector v, Vector by, Vector next) noexcept {
        return add(add(_mm256_clmulepi64_epi128(v, by, 0x00), _mm256_clmulepi64_epi128(v, by, 0x11)), next);
    }
    template <bool reflected>
    static Vector start(std::uint64_t half) noexcept {
        return _mm256_zextsi128_si256(Lane::start<reflected>(half));
    }
    template <CrcSpec spec>
    static __m128i one_lane(Vector v) noexcept {
        static constexpr CrcPair ahead = CrcConstants<spec>::ahead(Lane::width);
        return Lane::fold(_mm256_castsi256_si128(v), Lane::constants(&ahead), _mm256_extracti128_si256(v, 1));
    }
};

}  // namespace

template <CrcSpec spec>
CrcWord<spec> crc_vpclmul_avx2(ConstData data, CrcWord<spec> value) noexcept {
    return CrcFold<TwoLanes, spec>::sum(data, value);
}

template std::uint32_t crc_vpclmul_avx2<crc32_spec>(ConstData, std::uint32_t) noexcept;
template std::uint32_t crc_vpclmul_avx2<crc32c_spec>(ConstData, std::uint32_t) noexcept;
template std::uint32_t crc_vpclmul_avx2<cksum_spec>(ConstData, std::uint32_t) noexcept;
template std::uint64_t crc_vpclmul_avx2<crc64_xz_spec>(ConstData, std::uint64_t) noexcept;
template std::uint64_t crc_vpclmul_avx2<crc64_nvme_spec>(ConstData, std::uint64_t) noexcept;
template std::uint64_t crc_vpclmul_avx2<crc64_ecma182_spec>(ConstData, std::uint64_t) noexcept;

std::uint32_t crc32c_two_ways_avx2(ConstData data, std::uint32_t value) noexcept {
    return Crc32cTwoWays<TwoLanes>::sum(data, value);
}

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
