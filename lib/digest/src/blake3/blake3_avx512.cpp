// SPDX-License-Identifier: Apache-2.0
// BLAKE3 on AVX-512: 16 lanes, or 8 for what is left, with instructions that rotate.
#include "blake3/blake3_kernels.hpp"

#if defined(__x86_64__)
#include <bit>
#include <cstring>
#include <utility>

#include "target.hpp"

WEIR_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq")
namespace weir::digest::blake3 {
namespace {

#include "blake3/blake3_lanes.hpp"

struct Sixteen {
    static constexpr std::size_t width = 16;
    static constexpr bool rotates = true, shuffles_bytes = true;
};
struct Eight : Sixteen {
    static constexpr std::size_t width = 8;
};
struct Four : Sixteen {
    static constexpr std::size_t width = 4;
};

using Ways = Blake3Ways<Blake3Rows<Four, 1>, Blake3Rows<Eight, 1>, Blake3Rows<Sixteen, 1>, Blake3Lanes<Eight>,
                        Blake3Lanes<Sixteen>>;

}  // namespace
}  // namespace weir::digest::blake3
WEIR_TARGET_END

namespace weir::digest::blake3 {

constinit const Kernel with_avx512{"avx512", [](const CpuFeatures& has) noexcept { return has.avx512; },
                                   Blake3Rows<Four, 1>::compress, Ways::chunks, Ways::parents};

}  // namespace weir::digest::blake3
#endif
