// SPDX-License-Identifier: Apache-2.0
// CRC-32 and CRC-32C with the instructions of ARMv8 (optional in 8.0, always there since 8.1).
#include "implementations.hpp"

#if defined(__aarch64__)
#include <arm_acle.h>

#include <cstring>

#include "weir/base/target.hpp"
#if defined(__clang__)
WEIR_TARGET_BEGIN("crc")
#else
WEIR_TARGET_BEGIN("+crc")
#endif

namespace weir::checksum {
namespace {

struct Crc32 {
    static std::uint32_t add8(std::uint32_t sum, std::uint64_t word) noexcept { return __crc32d(sum, word); }
    static std::uint32_t add1(std::uint32_t sum, std::uint8_t byte) noexcept { return __crc32b(sum, byte); }
};

struct Crc32c {
    static std::uint32_t add8(std::uint32_t sum, std::uint64_t word) noexcept { return __crc32cd(sum, word); }
    static std::uint32_t add1(std::uint32_t sum, std::uint8_t byte) noexcept { return __crc32cb(sum, byte); }
};

template <class Instructions>
std::uint32_t sum_with(ConstData data, std::uint32_t value) noexcept {
    const std::byte* at = data.data();
    std::size_t size = data.size();
    std::uint32_t sum = ~value;
    for (; size >= 8; size -= 8, at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        sum = Instructions::add8(sum, word);
    }
    for (; size != 0; --size, ++at) sum = Instructions::add1(sum, std::to_integer<std::uint8_t>(*at));
    return ~sum;
}

}  // namespace

std::uint32_t crc32_arm(ConstData data, std::uint32_t value) noexcept { return sum_with<Crc32>(data, value); }
std::uint32_t crc32c_arm(ConstData data, std::uint32_t value) noexcept { return sum_with<Crc32c>(data, value); }

}  // namespace weir::checksum
WEIR_TARGET_END
#endif
