// SPDX-License-Identifier: Apache-2.0
// BLAKE3 on AArch64: 4 lanes. NEON is part of it, so nothing is switched on.
#include "blake3/blake3_kernels.hpp"

#if defined(__AARCH64EL__)
#include <bit>
#include <cstring>
#include <utility>

#include "target.hpp"

namespace weir::digest::blake3 {
namespace {

#include "blake3/blake3_lanes.hpp"

struct Four {
    static constexpr std::size_t width = 4;
    static constexpr bool rotates = false, shuffles_bytes = true;
};

using Ways = Blake3Ways<Blake3Rows<Four, 1>, Blake3Rows<Four, 2>, Blake3Lanes<Four>>;

}  // namespace

constinit const Kernel with_neon{"neon", [](const CpuFeatures& has) noexcept { return has.neon; },
                                 Blake3Rows<Four, 1>::compress, Ways::chunks, Ways::parents};

}  // namespace weir::digest::blake3
#endif
