// SPDX-License-Identifier: Apache-2.0
// CRCs whose highest bit comes first, as those whose lowest does. Folding wants the powers of x in one direction
// through all bits of a lane; for these CRCs the bytes of each lane would have to be put in reverse order, and on Intel
// that instruction waits for the unit that multiplies. But the sum of a message is the mirror image of the sum that
// the mirrored CRC makes of mirrored bytes, and one multiplication by a matrix of 8 x 8 bits mirrors all bytes of a
// vector in another unit (GFNI).
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>

#include "crc/crc_constants.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,avx2,sse4.2,pclmul,vpclmulqdq,gfni")
namespace weir::checksum {
namespace {

#include "crc/kernels/crc_fold.hpp"
#include "crc/kernels/crc_four_lanes.hpp"
#include "crc/kernels/crc_lane_x86.hpp"

constexpr long long mirror =
    static_cast<long long>(0x8040201008040201);  // row i of the matrix takes bit i to bit 7 - i

struct MirroredLane : CrcLane {
    using Lane = MirroredLane;
    template <bool>
    static Vector load(const std::byte* at) noexcept {
        return _mm_gf2p8affine_epi64_epi8(load_bytes(at), _mm_set1_epi64x(mirror), 0);
    }
};

struct FourMirroredLanes : FourLanes {
    using Lane = MirroredLane;
    template <bool>
    static Vector load(const std::byte* at) noexcept {
        return _mm512_gf2p8affine_epi64_epi8(_mm512_loadu_si512(at), _mm512_set1_epi64(mirror), 0);
    }
};

/// Halves, quarters and so on change places, from bits to words.
template <class Word>
Word mirrored(Word word) noexcept {
    std::uint64_t bits = word;
    bits = (bits >> 1 & 0x5555555555555555) | (bits & 0x5555555555555555) << 1;
    bits = (bits >> 2 & 0x3333333333333333) | (bits & 0x3333333333333333) << 2;
    bits = (bits >> 4 & 0x0f0f0f0f0f0f0f0f) | (bits & 0x0f0f0f0f0f0f0f0f) << 4;
    return static_cast<Word>(__builtin_bswap64(bits) >> (64 - 8 * sizeof word));
}

}  // namespace

template <CrcSpec spec>
CrcWord<spec> crc_gfni_avx512(ConstData data, CrcWord<spec> value) noexcept {
    static_assert(!spec.reflected && spec.init == 0 && spec.xor_out == 0,
                  "what is inverted would have to be mirrored, too");
    constexpr CrcSpec image{spec.width, spec.polynomial, true, spec.init, spec.xor_out};
    constexpr std::size_t worth_it = 4096;  // before, mirroring the sum and the longer wait for each vector cost more
    if (data.size() < worth_it) return crc_vpclmul_avx512<spec>(data, value);
    return mirrored(CrcFold<FourMirroredLanes, image>::sum_of_a_lane_or_more(data, mirrored(value)));
}

template std::uint32_t crc_gfni_avx512<cksum_spec>(ConstData, std::uint32_t) noexcept;
template std::uint64_t crc_gfni_avx512<crc64_ecma182_spec>(ConstData, std::uint64_t) noexcept;

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
