// SPDX-License-Identifier: Apache-2.0
// As lanes_avx512_test.cpp, for BLAKE3.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <bit>
#include <cstring>
#include <utility>

#include "blake3/blake3_kernels.hpp"
#include "samples.hpp"
#include "target.hpp"

#undef WEIR_TARGET_BEGIN
#undef WEIR_TARGET_END
#define WEIR_TARGET_BEGIN(set)
#define WEIR_TARGET_END
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to functions of this file only
namespace weir::digest::blake3 {
extern const Kernel apart;
}
#define with_avx512 apart
#include "blake3/blake3_avx512.cpp"
#undef with_avx512

namespace weir::digest::blake3 {
namespace {

TEST(Blake3Avx512, VectorsTakenApartGiveTheNodesOfThePortableKernel) {
    const auto data = test::random_bytes(40 * chunk_size + 3, 1);
    for (std::size_t count = 0; count <= 40; ++count) {
        std::vector<Node> right(count), nodes(count);
        portable.chunks(data.data() + 3, count, (1ULL << 32) - 5, right.data());
        apart.chunks(data.data() + 3, count, (1ULL << 32) - 5, nodes.data());
        ASSERT_EQ(nodes, right) << count << " chunks";
        portable.parents(right.data(), count / 2, right.data());
        apart.parents(nodes.data(), count / 2, nodes.data());
        ASSERT_EQ(nodes, right) << count / 2 << " pairs";
    }
    for (std::uint32_t flags = 0; flags < 16; ++flags) {
        Node right = initial, node = initial;
        portable.compress(right, data.data() + flags, 1ULL << 40, 64 - flags, flags);
        apart.compress(node, data.data() + flags, 1ULL << 40, 64 - flags, flags);
        ASSERT_EQ(node, right);
    }
}

}  // namespace
}  // namespace weir::digest::blake3
#endif
