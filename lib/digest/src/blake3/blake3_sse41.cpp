// SPDX-License-Identifier: Apache-2.0
// BLAKE3 on SSE4.1: 4 lanes.
#include "blake3/blake3_kernels.hpp"

#if defined(__x86_64__)
#include <bit>
#include <cstring>
#include <utility>

#include "target.hpp"

WEIR_TARGET_BEGIN("sse4.1")
namespace weir::digest::blake3 {
namespace {

#include "blake3/blake3_lanes.hpp"

struct Four {
    static constexpr std::size_t width = 4;
    static constexpr bool rotates = false, shuffles_bytes = true;
};

using Ways = Blake3Ways<Blake3Rows<Four, 1>, Blake3Rows<Four, 2>, Blake3Lanes<Four>>;

}  // namespace
}  // namespace weir::digest::blake3
WEIR_TARGET_END

namespace weir::digest::blake3 {

constinit const Kernel with_sse41{"sse4.1", [](const CpuFeatures& has) noexcept { return has.sse42; },
                                  Blake3Rows<Four, 1>::compress, Ways::chunks, Ways::parents};

}  // namespace weir::digest::blake3
#endif
