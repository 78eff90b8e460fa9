// SPDX-License-Identifier: Apache-2.0
// Four lanes in plain vector extensions, which every compiler lowers to what its target always has: SSE2 on
// x86-64, NEON on AArch64.
#include <bit>
#include <cstring>
#include <utility>

#include "lanes/kernels/lane_implementations.hpp"
#include "lanes/kernels/sha256_constants.hpp"
#include "target.hpp"

namespace weir::digest {
namespace {

#include "lanes/kernels/md5_lanes.hpp"
#include "lanes/kernels/sha1_lanes.hpp"
#include "lanes/kernels/sha256_lanes.hpp"

struct Four {
    static constexpr std::size_t width = 4;
    static constexpr bool rotates = false, ternary = false;
#if defined(__aarch64__)
    static constexpr bool shuffles_bytes = true;
#else
    static constexpr bool shuffles_bytes = false;
#endif
};

}  // namespace

void md5_portable(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Md5<Four, 3>, Four, 3>(state, data, blocks);
}
void sha1_portable(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Sha1<Four, 1>, Four, 1>(state, data, blocks);
}
void sha256_portable(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Sha256<Four, 1>, Four, 1>(state, data, blocks);
}

}  // namespace weir::digest
