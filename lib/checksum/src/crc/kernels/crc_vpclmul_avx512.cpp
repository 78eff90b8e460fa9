// SPDX-License-Identifier: Apache-2.0
// CRCs with the carry-less multiplication of four lanes: vectors of 64 bytes.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>

#include "crc/crc_constants.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,avx2,sse4.2,pclmul,vpclmulqdq")
namespace weir::checksum {
namespace {

#include "crc/kernels/crc32c_two_ways.hpp"
#include "crc/kernels/crc_fold.hpp"
#include "crc/kernels/crc_four_lanes.hpp"
#include "crc/kernels/crc_lane_x86.hpp"

struct StreamVectors {
    std::byte* to;
    const std::byte* from;

    void operator()(const std::byte* at, __m512i vector) const noexcept {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + (at - from)), vector);
    }
};

}  // namespace

std::uint32_t copy_crc32c_avx512(std::byte* to, const std::byte* from, std::size_t size, std::uint32_t value) noexcept {
    return CrcFold<FourLanes, crc32c_spec>::sum_of_a_lane_or_more({from, size}, value, StreamVectors{to, from});
}

template <CrcSpec spec>
CrcWord<spec> crc_vpclmul_avx512(ConstData data, CrcWord<spec> value) noexcept {
    return CrcFold<FourLanes, spec>::sum(data, value);
}

template std::uint32_t crc_vpclmul_avx512<crc32_spec>(ConstData, std::uint32_t) noexcept;
template std::uint32_t crc_vpclmul_avx512<crc32c_spec>(ConstData, std::uint32_t) noexcept;
template std::uint32_t crc_vpclmul_avx512<cksum_spec>(ConstData, std::uint32_t) noexcept;
template std::uint64_t crc_vpclmul_avx512<crc64_xz_spec>(ConstData, std::uint64_t) noexcept;
template std::uint64_t crc_vpclmul_avx512<crc64_nvme_spec>(ConstData, std::uint64_t) noexcept;
template std::uint64_t crc_vpclmul_avx512<crc64_ecma182_spec>(ConstData, std::uint64_t) noexcept;

std::uint32_t crc32c_two_ways_avx512(ConstData data, std::uint32_t value) noexcept {
    return Crc32cTwoWays<FourLanes>::sum(data, value);
}

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
