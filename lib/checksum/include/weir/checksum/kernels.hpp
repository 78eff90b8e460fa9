// SPDX-License-Identifier: Apache-2.0
// The one list of implementations. The choice of a kernel, the tests and the benchmarks all walk these
// lists, so none can be omitted. Each list begins with the portable kernel, which defines what is right
// and runs everywhere; the best one stands last.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weir/base/cpu.hpp"
#include "weir/base/data.hpp"
#include "weir/base/result.hpp"

namespace weir::checksum {

template <class Function>
struct Kernel {
    std::string_view name;
    bool (*usable)(const CpuFeatures&) noexcept;  // on a processor with these features
    Function* run;
};

/// Sum of the data, continuing from a value.
using SumFunction = std::uint32_t(ConstData, std::uint32_t) noexcept;

using Sum64Function = std::uint64_t(ConstData, std::uint64_t) noexcept;

/// Product of two polynomials modulo that of a CRC, in the bit order of this CRC.
using MultiplyFunction = std::uint32_t(std::uint32_t, std::uint32_t) noexcept;
using Multiply64Function = std::uint64_t(std::uint64_t, std::uint64_t) noexcept;

/// Copies whole 64-byte lines to a target that begins on a line; other threads may still see old bytes
/// until a fence. `behind` bytes of the source follow and are wanted next: they are asked for ahead. The caller has
/// checked sizes and alignment.
using CopyLinesFunction = void(std::byte* to, const std::byte* from, std::size_t size, std::size_t behind) noexcept;

/// The same for a multiple of 128 bytes, and the sum of them, continuing from a value.
using CopySumFunction = std::uint32_t(std::byte* to, const std::byte* from, std::size_t size,
                                      std::uint32_t value) noexcept;

using SumKernel = Kernel<SumFunction>;
using Sum64Kernel = Kernel<Sum64Function>;
using MultiplyKernel = Kernel<MultiplyFunction>;
using Multiply64Kernel = Kernel<Multiply64Function>;
using CopyLinesKernel = Kernel<CopyLinesFunction>;
using CopySumKernel = Kernel<CopySumFunction>;

[[nodiscard]] std::span<const SumKernel> adler32_kernels() noexcept;
[[nodiscard]] std::span<const SumKernel> crc32_kernels() noexcept;
[[nodiscard]] std::span<const SumKernel> crc32c_kernels() noexcept;
[[nodiscard]] std::span<const SumKernel> cksum_kernels() noexcept;  // of running values
[[nodiscard]] std::span<const Sum64Kernel> crc64_xz_kernels() noexcept;
[[nodiscard]] std::span<const Sum64Kernel> crc64_nvme_kernels() noexcept;
[[nodiscard]] std::span<const Sum64Kernel> crc64_ecma182_kernels() noexcept;
[[nodiscard]] std::span<const MultiplyKernel> crc32_multiply_kernels() noexcept;
[[nodiscard]] std::span<const MultiplyKernel> crc32c_multiply_kernels() noexcept;
[[nodiscard]] std::span<const MultiplyKernel> cksum_multiply_kernels() noexcept;
[[nodiscard]] std::span<const Multiply64Kernel> crc64_xz_multiply_kernels() noexcept;
[[nodiscard]] std::span<const Multiply64Kernel> crc64_nvme_multiply_kernels() noexcept;
[[nodiscard]] std::span<const Multiply64Kernel> crc64_ecma182_multiply_kernels() noexcept;
[[nodiscard]] std::span<const CopyLinesKernel> non_temporal_kernels() noexcept;
[[nodiscard]] std::span<const CopySumKernel> copy_adler32_kernels() noexcept;
[[nodiscard]] std::span<const CopySumKernel> copy_crc32c_kernels() noexcept;

/// The best kernel of a list for a processor with these features.
template <class Function>
[[nodiscard]] constexpr const Kernel<Function>& best(std::span<const Kernel<Function>> kernels,
                                                     const CpuFeatures& features) noexcept {
    const auto* chosen = &kernels.front();
    for (const auto& kernel : kernels)
        if (kernel.usable(features)) chosen = &kernel;
    return *chosen;
}

/// Runs the known-answer test of every kernel that is usable with these features; takes well below a
/// millisecond. Call it at start: a kernel that is wrong would spoil every sum, so the error
/// (Errc::corrupt) means "do not go on".
[[nodiscard]] Result<> self_test(const CpuFeatures& features = CpuFeatures::detect());
/// The same of one algorithm alone, for a program that makes no other sum.
[[nodiscard]] Result<> self_test_of(std::string_view algorithm, const CpuFeatures& features = CpuFeatures::detect());

/// The same over given lists; self_test() does it with ours. Algorithms are "adler32", "crc32", "crc32c",
/// "cksum" (running values), "crc64-xz", "crc64-nvme", "crc64-ecma182"; all but the first have products.
[[nodiscard]] Result<> self_test_sums(std::string_view algorithm, std::span<const SumKernel> kernels,
                                      const CpuFeatures& features);
[[nodiscard]] Result<> self_test_sums(std::string_view algorithm, std::span<const Sum64Kernel> kernels,
                                      const CpuFeatures& features);
[[nodiscard]] Result<> self_test_products(std::string_view algorithm, std::span<const MultiplyKernel> kernels,
                                          const CpuFeatures& features);
[[nodiscard]] Result<> self_test_products(std::string_view algorithm, std::span<const Multiply64Kernel> kernels,
                                          const CpuFeatures& features);
[[nodiscard]] Result<> self_test_copy(std::span<const CopyLinesKernel> kernels, const CpuFeatures& features);
/// Against a portable kernel of the same algorithm.
[[nodiscard]] Result<> self_test_copy_sums(std::string_view algorithm, std::span<const CopySumKernel> kernels,
                                           SumFunction* portable, const CpuFeatures& features);

}  // namespace weir::checksum
