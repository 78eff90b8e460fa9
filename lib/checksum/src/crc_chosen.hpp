// SPDX-License-Identifier: Apache-2.0
// One CRC as this process runs it: the kernels that were chosen from its lists at the first call, and the
// joining of sums, which rests on its multiplication.
#pragma once

#include <cstdint>
#include <string_view>

#include "crc_field.hpp"
#include "weir/checksum/kernels.hpp"

namespace weir::checksum {

/// The lists are those of kernels.hpp for this spec.
template <CrcSpec spec, auto* kernels, auto* multiply_kernels>
struct CrcChosen {
    using Field = CrcField<spec>;
    using Word = typename Field::Word;

    [[nodiscard]] static Word sum(ConstData data, Word value) noexcept {
        static auto* const run = best(kernels(), CpuFeatures::detect()).run;
        return run(data, value);
    }

    [[nodiscard]] static std::string_view name() noexcept {
        static const auto& kernel = best(kernels(), CpuFeatures::detect());
        return kernel.name;
    }

    [[nodiscard]] static auto* multiply() noexcept {
        static auto* const run = best(multiply_kernels(), CpuFeatures::detect()).run;
        return run;
    }

    /// x^(8 * length).
    [[nodiscard]] static Word power_for(std::uint64_t length) noexcept { return Field::shift_for(length, multiply()); }

    [[nodiscard]] static Word combine(Word a, Word b, std::uint64_t length_of_b) noexcept {
        auto* const product = multiply();
        return product(a, Field::shift_for(length_of_b, product)) ^ b;
    }
};

}  // namespace weir::checksum
