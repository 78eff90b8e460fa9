// SPDX-License-Identifier: Apache-2.0
// CRC-32C with the crc32 instruction of SSE4.2. It takes eight bytes and answers after three cycles, but
// starts one every cycle: so three stretches of a block are summed side by side and joined by two
// carry-less multiplications.
#include "implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "crc_field.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("sse4.2,pclmul")
namespace weir::checksum {
namespace {

std::uint32_t multiply_clmul(std::uint32_t a, std::uint32_t b) noexcept {
    const auto product =
        _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(a)), _mm_cvtsi32_si128(static_cast<int>(b)), 0);
    // In reflected order the product of degree 62 at most ends one bit too low. Its low half then stands
    // for x^32 ... x^63; the crc32 instruction is exactly "times x^32, modulo the polynomial".
    const auto bits = static_cast<std::uint64_t>(_mm_cvtsi128_si64(product)) << 1;
    return _mm_crc32_u32(0, static_cast<std::uint32_t>(bits)) ^ static_cast<std::uint32_t>(bits >> 32);
}

std::uint64_t load8(const std::byte* at) noexcept {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

/// Sums blocks of three stretches while there are any, and moves `at` behind them.
template <std::size_t stretch>
std::uint32_t sum_blocks(std::uint32_t sum, const std::byte*& at, std::size_t& size) noexcept {
    static_assert(stretch % 8 == 0);
    constexpr std::uint32_t over_one = CrcField<crc32c_spec>::power_of_x(8 * stretch);
    constexpr std::uint32_t over_two = CrcField<crc32c_spec>::power_of_x(8 * 2 * stretch);
    for (; size >= 3 * stretch; size -= 3 * stretch, at += 3 * stretch) {
        std::uint64_t first = sum;
        std::uint64_t second = 0;
        std::uint64_t third = 0;
        for (std::size_t i = 0; i < stretch; i += 8) {
            first = _mm_crc32_u64(first, load8(at + i));
            second = _mm_crc32_u64(second, load8(at + stretch + i));
            third = _mm_crc32_u64(third, load8(at + 2 * stretch + i));
        }
        sum = multiply_clmul(static_cast<std::uint32_t>(first), over_two) ^
              multiply_clmul(static_cast<std::uint32_t>(second), over_one) ^ static_cast<std::uint32_t>(third);
    }
    return sum;
}

}  // namespace

std::uint32_t crc32c_multiply_pclmul(std::uint32_t a, std::uint32_t b) noexcept { return multiply_clmul(a, b); }

std::uint32_t crc32c_sse42(ConstData data, std::uint32_t value) noexcept {
    const std::byte* at = data.data();
    std::size_t size = data.size();
    std::uint32_t sum = ~value;
    sum = sum_blocks<1360>(sum, at, size);  // three stretches just under a page
    sum = sum_blocks<168>(sum, at, size);
    for (; size >= 8; size -= 8, at += 8) sum = static_cast<std::uint32_t>(_mm_crc32_u64(sum, load8(at)));
    for (; size != 0; --size, ++at) sum = _mm_crc32_u8(sum, std::to_integer<std::uint8_t>(*at));
    return ~sum;
}

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
