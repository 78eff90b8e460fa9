// SPDX-License-Identifier: Apache-2.0
// Choice of the kernels, and the joining of sums.
#include "weir/checksum/crc64.hpp"

#include "crc/crc_chosen.hpp"

namespace weir::checksum {
namespace {

using Xz = CrcChosen<crc64_xz_spec, crc64_xz_kernels, crc64_xz_multiply_kernels>;
using Nvme = CrcChosen<crc64_nvme_spec, crc64_nvme_kernels, crc64_nvme_multiply_kernels>;
using Ecma182 = CrcChosen<crc64_ecma182_spec, crc64_ecma182_kernels, crc64_ecma182_multiply_kernels>;

Multiply64Function* multiply_of(Crc64 variety) noexcept {
    if (variety == Crc64::xz) return Xz::multiply();
    return variety == Crc64::nvme ? Nvme::multiply() : Ecma182::multiply();
}

std::uint64_t power_for(Crc64 variety, std::uint64_t length) noexcept {
    if (variety == Crc64::xz) return Xz::power_for(length);
    return variety == Crc64::nvme ? Nvme::power_for(length) : Ecma182::power_for(length);
}

}  // namespace

std::uint64_t crc64_xz(ConstData data, std::uint64_t value) noexcept { return Xz::sum(data, value); }
std::uint64_t crc64_nvme(ConstData data, std::uint64_t value) noexcept { return Nvme::sum(data, value); }
std::uint64_t crc64_ecma182(ConstData data, std::uint64_t value) noexcept { return Ecma182::sum(data, value); }

std::string_view crc64_xz_name() noexcept { return Xz::name(); }
std::string_view crc64_nvme_name() noexcept { return Nvme::name(); }
std::string_view crc64_ecma182_name() noexcept { return Ecma182::name(); }

std::uint64_t crc64_xz_combine(std::uint64_t a, std::uint64_t b, std::uint64_t length_of_b) noexcept {
    return Xz::combine(a, b, length_of_b);
}
std::uint64_t crc64_nvme_combine(std::uint64_t a, std::uint64_t b, std::uint64_t length_of_b) noexcept {
    return Nvme::combine(a, b, length_of_b);
}
std::uint64_t crc64_ecma182_combine(std::uint64_t a, std::uint64_t b, std::uint64_t length_of_b) noexcept {
    return Ecma182::combine(a, b, length_of_b);
}

Crc64Combiner::Crc64Combiner(Crc64 variety, std::uint64_t length_of_b) noexcept
    : multiply_(multiply_of(variety)), power_(power_for(variety, length_of_b)) {}

}  // namespace weir::checksum
