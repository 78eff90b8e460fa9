// SPDX-License-Identifier: Apache-2.0
// Choice of the kernels, and the joining of sums.
#include "weir/checksum/crc32c.hpp"

#include "crc/crc_chosen.hpp"

namespace weir::checksum {
namespace {

using Chosen = CrcChosen<crc32c_spec, crc32c_kernels, crc32c_multiply_kernels>;

}  // namespace

std::uint32_t crc32c(ConstData data, std::uint32_t value) noexcept { return Chosen::sum(data, value); }

std::string_view crc32c_name() noexcept { return Chosen::name(); }

std::uint32_t crc32c_combine(std::uint32_t a, std::uint32_t b, std::uint64_t length_of_b) noexcept {
    return Chosen::combine(a, b, length_of_b);
}

Crc32cCombiner::Crc32cCombiner(std::uint64_t length_of_b) noexcept
    : CrcCombiner(Chosen::multiply(), Chosen::power_for(length_of_b)) {}

}  // namespace weir::checksum
