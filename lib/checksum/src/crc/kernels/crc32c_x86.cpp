// SPDX-License-Identifier: Apache-2.0
// CRC-32C with the crc32 instruction of SSE4.2 alone, and products of its polynomials.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <cstring>

#include "crc/crc_field.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("sse4.2,pclmul")
namespace weir::checksum {
namespace {

#include "crc/kernels/crc32c_instruction.hpp"

std::uint32_t multiply_clmul(std::uint32_t a, std::uint32_t b) noexcept {
    const auto product =
        _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(a)), _mm_cvtsi32_si128(static_cast<int>(b)), 0);
    // In reflected order the product of degree 62 at most ends one bit too low. Its low half then stands
    // for x^32 ... x^63; the crc32 instruction is exactly "times x^32, modulo the polynomial".
    const auto bits = static_cast<std::uint64_t>(_mm_cvtsi128_si64(product)) << 1;
    return _mm_crc32_u32(0, static_cast<std::uint32_t>(bits)) ^ static_cast<std::uint32_t>(bits >> 32);
}

}  // namespace

std::uint32_t crc32c_multiply_pclmul(std::uint32_t a, std::uint32_t b) noexcept { return multiply_clmul(a, b); }

std::uint32_t crc32c_sse42(ConstData data, std::uint32_t value) noexcept { return Crc32cInstruction::sum(data, value); }

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
