// SPDX-License-Identifier: Apache-2.0
// BLAKE3 on AVX2: 8 lanes.
#include "blake3/blake3_kernels.hpp"

#if defined(__x86_64__)
#include <bit>
#include <cstring>
#include <utility>

#include "target.hpp"

WEIR_TARGET_BEGIN("avx2")
namespace weir::digest::blake3 {
namespace {

#include "blake3/blake3_lanes.hpp"

struct Eight {
    static constexpr std::size_t width = 8;
    static constexpr bool rotates = false, shuffles_bytes = true;
};
struct Four : Eight {
    static constexpr std::size_t width = 4;
};

using Ways = Blake3Ways<Blake3Rows<Four, 1>, Blake3Rows<Eight, 1>, Blake3Rows<Eight, 2>, Blake3Lanes<Eight>>;

}  // namespace
}  // namespace weir::digest::blake3
WEIR_TARGET_END

namespace weir::digest::blake3 {

constinit const Kernel with_avx2{"avx2", [](const CpuFeatures& has) noexcept { return has.avx2; },
                                 Blake3Rows<Four, 1>::compress, Ways::chunks, Ways::parents};

}  // namespace weir::digest::blake3
#endif
