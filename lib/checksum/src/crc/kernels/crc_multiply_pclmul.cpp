// SPDX-License-Identifier: Apache-2.0
// Products modulo the polynomial of a CRC, for joining sums: one carry-less multiplication, and two more for the
// reduction. (crc32c has an instruction that reduces: crc32c_x86.cpp.)
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include "crc/crc_constants.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("sse4.2,pclmul")
namespace weir::checksum {
namespace {

#include "crc/kernels/crc_lane_x86.hpp"

}  // namespace

template <CrcSpec spec>
CrcWord<spec> crc_multiply_pclmul(CrcWord<spec> a, CrcWord<spec> b) noexcept {
    using Constants = CrcConstants<spec>;
    using Lane = CrcLane;
    if constexpr (spec.width == 32) {
        // With one factor times x^32, the remainder modulo M is the product times x^32. Reflected, the product
        // would be one bit too low; a factor of 32 bits has room for that.
        const auto product = Lane::product(Lane::low(Constants::widen(a) << (spec.reflected ? 1 : 0)),
                                           Lane::low(spec.reflected ? std::uint64_t{b} << 32 : b));
        return Constants::narrow(Lane::reduce_product<spec>(product));
    } else if constexpr (spec.reflected) {
        // One bit too low, and no room: the halves are moved apart, and the bit between them is added at the end.
        const auto product = Lane::product(Lane::low(a), Lane::low(b));
        return Lane::reduce_product<spec>(_mm_slli_epi64(product, 1)) ^ Lane::low_of(product) >> 63;
    } else {
        return Lane::reduce_product<spec>(Lane::product(Lane::low(a), Lane::low(b)));
    }
}

template std::uint32_t crc_multiply_pclmul<crc32_spec>(std::uint32_t, std::uint32_t) noexcept;
template std::uint32_t crc_multiply_pclmul<cksum_spec>(std::uint32_t, std::uint32_t) noexcept;
template std::uint64_t crc_multiply_pclmul<crc64_xz_spec>(std::uint64_t, std::uint64_t) noexcept;
template std::uint64_t crc_multiply_pclmul<crc64_nvme_spec>(std::uint64_t, std::uint64_t) noexcept;
template std::uint64_t crc_multiply_pclmul<crc64_ecma182_spec>(std::uint64_t, std::uint64_t) noexcept;

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
