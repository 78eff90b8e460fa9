// SPDX-License-Identifier: Apache-2.0
// md5, sha1 and sha256 on AVX-512: 16 lanes, 32 registers, rotation and any function of three vectors in one
// instruction. md5, whose steps wait for each other most, also in twice 16 lanes.
#include "lanes/kernels/lane_implementations.hpp"

#if defined(__x86_64__)
#include <bit>
#include <cstring>
#include <utility>

#include "lanes/kernels/sha256_constants.hpp"
#include "target.hpp"

WEIR_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq")
namespace weir::digest {
namespace {

#include "lanes/kernels/md5_lanes.hpp"
#include "lanes/kernels/sha1_lanes.hpp"
#include "lanes/kernels/sha256_lanes.hpp"

struct Sixteen {
    static constexpr std::size_t width = 16;
    static constexpr bool rotates = true, shuffles_bytes = true, ternary = true;
};

}  // namespace

void md5_avx512_16(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Md5<Sixteen, 1>, Sixteen, 1>(state, data, blocks);
}
void md5_avx512_32(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Md5<Sixteen, 2>, Sixteen, 2>(state, data, blocks);
}
void sha1_avx512(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Sha1<Sixteen, 1>, Sixteen, 1>(state, data, blocks);
}
void sha256_avx512(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    over_blocks<Sha256<Sixteen, 1>, Sixteen, 1>(state, data, blocks);
}

}  // namespace weir::digest
WEIR_TARGET_END
#endif
