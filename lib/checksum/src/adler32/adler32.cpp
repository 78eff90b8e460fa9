// SPDX-License-Identifier: Apache-2.0
// Entry, and the joining of sums.
#include "weir/checksum/adler32.hpp"

#include "adler32/adler32_modulus.hpp"
#include "weir/checksum/chosen.hpp"

namespace weir::checksum {

std::uint32_t adler32(ConstData data, std::uint32_t value) noexcept {
    return ChosenKernel<adler32_kernels>::run(data, value);
}

std::string_view adler32_name() noexcept {
    static const SumKernel& kernel = ChosenKernel<adler32_kernels>::kernel();
    return kernel.name;
}

std::uint32_t adler32_combine(std::uint32_t a, std::uint32_t b, std::uint64_t length_of_b) noexcept {
    // b began with a low sum of 1 where it should have begun with that of a. The excess, taken as a
    // residue d, is in b's low sum once and in its high sum once for every byte of b.
    const std::uint64_t excess = (a & 0xffff) + (adler32_modulus - 1);
    const std::uint64_t low = excess + (b & 0xffff);
    const std::uint64_t high = (length_of_b % adler32_modulus) * excess + (a >> 16) + (b >> 16);
    return static_cast<std::uint32_t>((high % adler32_modulus) << 16 | (low % adler32_modulus));
}

}  // namespace weir::checksum
