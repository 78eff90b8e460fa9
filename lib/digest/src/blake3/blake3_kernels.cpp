// SPDX-License-Identifier: Apache-2.0
#include "blake3/blake3_kernels.hpp"

namespace weir::digest::blake3 {
namespace {

constexpr const Kernel* list[] = {
    &portable,
#if defined(__x86_64__)
    &with_sse41,
    &with_avx2,
    &with_avx512,
#elif defined(__AARCH64EL__)
    &with_neon,
#endif
};

}  // namespace

std::span<const Kernel* const> kernels() noexcept { return list; }

const Kernel& best(const CpuFeatures& features) noexcept {
    const auto* chosen = list[0];
    for (const auto* kernel : list)
        if (kernel->usable(features)) chosen = kernel;
    return *chosen;
}

const Kernel& best() noexcept {
    static const Kernel& chosen = best(CpuFeatures::detect());
    return chosen;
}

}  // namespace weir::digest::blake3
