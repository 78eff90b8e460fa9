// SPDX-License-Identifier: Apache-2.0
// Choice of the kernels, and the joining of sums.
#include "weir/checksum/crc32.hpp"

#include "crc/crc_chosen.hpp"

namespace weir::checksum {
namespace {

using Chosen = CrcChosen<crc32_spec, crc32_kernels, crc32_multiply_kernels>;

}  // namespace

std::uint32_t crc32(ConstData data, std::uint32_t value) noexcept { return Chosen::sum(data, value); }

std::string_view crc32_name() noexcept { return Chosen::name(); }

std::uint32_t crc32_combine(std::uint32_t a, std::uint32_t b, std::uint64_t length_of_b) noexcept {
    return Chosen::combine(a, b, length_of_b);
}

Crc32Combiner::Crc32Combiner(std::uint64_t length_of_b) noexcept
    : CrcCombiner(Chosen::multiply(), Chosen::power_for(length_of_b)) {}

}  // namespace weir::checksum
