// SPDX-License-Identifier: Apache-2.0
// CRCs with the carry-less multiplication of one lane: vectors of 16 bytes.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>

#include "crc/crc_constants.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("sse4.2,pclmul")
namespace weir::checksum {
namespace {

#include "crc/kernels/crc_fold.hpp"
#include "crc/kernels/crc_lane_x86.hpp"

}  // namespace

template <CrcSpec spec>
CrcWord<spec> crc_pclmul(ConstData data, CrcWord<spec> value) noexcept {
    return CrcFold<CrcLane, spec>::sum(data, value);
}

template std::uint32_t crc_pclmul<crc32_spec>(ConstData, std::uint32_t) noexcept;
template std::uint32_t crc_pclmul<crc32c_spec>(ConstData, std::uint32_t) noexcept;
template std::uint32_t crc_pclmul<cksum_spec>(ConstData, std::uint32_t) noexcept;
template std::uint64_t crc_pclmul<crc64_xz_spec>(ConstData, std::uint64_t) noexcept;
template std::uint64_t crc_pclmul<crc64_nvme_spec>(ConstData, std::uint64_t) noexcept;
template std::uint64_t crc_pclmul<crc64_ecma182_spec>(ConstData, std::uint64_t) noexcept;

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
