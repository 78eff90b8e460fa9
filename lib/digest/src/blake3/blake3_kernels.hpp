// SPDX-License-Identifier: Apache-2.0
// The one list of implementations of BLAKE3: the choice of one, the tests and the benchmarks walk it.
// The portable one, which defines what is right, stands first, the best last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "blake3/blake3.hpp"
#include "weir/base/cpu.hpp"

namespace weir::digest::blake3 {

struct Kernel {
    std::string_view name;
    bool (*usable)(const CpuFeatures&) noexcept;
    /// The compression function: takes a block of 64 bytes (`length` of them are data) into `node`.
    void (*compress)(Node& node, const std::byte* block, std::uint64_t counter, std::uint32_t length,
                     std::uint32_t flags) noexcept;
    /// The nodes of `count` whole chunks that follow each other in memory. `first` is the number of the first.
    void (*chunks)(const std::byte* data, std::size_t count, std::uint64_t first, Node* nodes) noexcept;
    /// The nodes above `count` pairs of children. In place (nodes == children) is fine.
    void (*parents)(const Node* children, std::size_t count, Node* nodes) noexcept;
};

extern const Kernel portable;
#if defined(__x86_64__)
extern const Kernel with_sse41, with_avx2, with_avx512;
#elif defined(__AARCH64EL__)
extern const Kernel with_neon;
#endif

[[nodiscard]] std::span<const Kernel* const> kernels() noexcept;

/// The last one of the list that is usable with these features.
[[nodiscard]] const Kernel& best(const CpuFeatures& features) noexcept;
/// The one for this processor.
[[nodiscard]] const Kernel& best() noexcept;

}  // namespace weir::digest::blake3
