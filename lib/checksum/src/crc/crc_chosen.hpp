// SPDX-License-Identifier: Apache-2.0
// One CRC as this process runs it: its kernels, and the joining of sums, which rests on its
// multiplication.
#pragma once

#include <cstdint>
#include <string_view>

#include "crc/crc_field.hpp"
#include "weir/checksum/chosen.hpp"

namespace weir::checksum {

/// The lists are those of kernels.hpp for this spec.
template <CrcSpec spec, auto* kernels, auto* multiply_kernels>
struct CrcChosen {
    using Field = CrcField<spec>;
    using Word = typename Field::Word;

    [[gnu::always_inline]] static Word sum(ConstData data, Word value) noexcept {
        return ChosenKernel<kernels>::run(data, value);
    }

    [[nodiscard]] static std::string_view name() noexcept {
        static const auto& kernel = ChosenKernel<kernels>::kernel();
        return kernel.name;
    }

    [[nodiscard]] static auto* multiply() noexcept { return ChosenKernel<multiply_kernels>::function(); }

    /// x^(8 * length).
    [[nodiscard]] static Word power_for(std::uint64_t length) noexcept { return Field::shift_for(length, multiply()); }

    [[nodiscard]] static Word combine(Word a, Word b, std::uint64_t length_of_b) noexcept {
        auto* const product = multiply();
        return product(a, Field::shift_for(length_of_b, product)) ^ b;
    }
};

}  // namespace weir::checksum
