// SPDX-License-Identifier: Apache-2.0
// The definition of right: the low sum adds the bytes, the high sum adds the low sums.
#include <algorithm>

#include "adler32/adler32_modulus.hpp"
#include "implementations.hpp"

namespace weir::checksum {

std::uint32_t adler32_portable(ConstData data, std::uint32_t value) noexcept {
    // After 64 KiB, high is below 65536 + 65536 * 65536 + 255 * 65536 * 65537 / 2 < 2^40.
    constexpr std::size_t run_max = 65536;
    std::uint64_t low = value & 0xffff;
    std::uint64_t high = value >> 16;
    while (!data.empty()) {
        const auto run = data.first(std::min(data.size(), run_max));
        for (const auto byte : run) {
            low += std::to_integer<std::uint64_t>(byte);
            high += low;
        }
        low %= adler32_modulus;
        high %= adler32_modulus;
        data = data.subspan(run.size());
    }
    return static_cast<std::uint32_t>(high << 16 | low);
}

}  // namespace weir::checksum
