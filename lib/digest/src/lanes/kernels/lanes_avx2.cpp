// SPDX-License-Identifier: Apache-2.0
// md5, sha1 and sha256 on AVX2: 8 lanes, for md5 also two or three times 8 side by side. (More groups need more
// registers than there are: for sha1 and sha256 two are slower than one, for md5 four slower than three.)
#include "lanes/kernels/lane_implementations.hpp"

#if defined(__x86_64__)
#include <bit>
#include <cstring>
#include <utility>

#include "lanes/kernels/sha256_constants.hpp"
#include "target.hpp"

WEIR_TARGET_BEGIN("avx2")
namespace weir::digest {
namespace {

#include "lanes/kernels/md5_lanes.hpp"
#include "lanes/kernels/sha1_lanes.hpp"
#include "lanes/kernels/sha256_lanes.hpp"

struct Eight {
    static constexpr std::size_t width = 8;
    static constexpr bool rotates = false, shuffles_bytes = true, ternary = false;
};

}  // namespace

void md5_avx2_8(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Md5<Eight, 1>, Eight, 1>(state, data, blocks);
}
void md5_avx2_16(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Md5<Eight, 2>, Eight, 2>(state, data, blocks);
}
void md5_avx2_24(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Md5<Eight, 3>, Eight, 3>(state, data, blocks);
}
void sha1_avx2(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Sha1<Eight, 1>, Eight, 1>(state, data, blocks);
}
void sha256_avx2(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Sha256<Eight, 1>, Eight, 1>(state, data, blocks);
}

}  // namespace weir::digest
WEIR_TARGET_END
#endif
