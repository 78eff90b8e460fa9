// SPDX-License-Identifier: Apache-2.0
// What the tests of sums share: pseudo-random bytes, the kernels that can run here, and a definition of
// crc32c that shares no code with the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/checksum/kernels.hpp"

namespace weir::checksum::test {

inline std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    std::vector<std::byte> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

/// The kernels of a list that this processor can run, those too that would be chosen on another one for their speed.
template <class Function>
std::vector<Kernel<Function>> usable(std::span<const Kernel<Function>> kernels) {
    auto features = CpuFeatures::detect();
    features.prefetch_helps = true;
    std::vector<Kernel<Function>> here;
    for (const auto& kernel : kernels)
        if (kernel.usable(features)) here.push_back(kernel);
    return here;
}

inline std::uint32_t crc32c_bitwise(ConstData data, std::uint32_t value = 0) {
    value = ~value;
    for (const auto byte : data) {
        value ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78U : 0U);
    }
    return ~value;
}

}  // namespace weir::checksum::test
