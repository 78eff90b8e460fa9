// SPDX-License-Identifier: Apache-2.0
// The AVX-512 kernels on every x86-64: their own source is compiled once more here without AVX-512, so that the
// compiler takes each vector of 64 bytes apart. So their lanes, shuffles and order of words are tested on
// processors that could not run them. That the wide instructions do the same is left to the tests of
// kernels on a processor that has them.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <bit>
#include <cstring>
#include <utility>

#include "lanes/block_hash.hpp"
#include "lanes/kernels/lane_implementations.hpp"
#include "lanes/kernels/sha256_constants.hpp"
#include "samples.hpp"
#include "target.hpp"

#undef WEIR_TARGET_BEGIN
#undef WEIR_TARGET_END
#define WEIR_TARGET_BEGIN(set)
#define WEIR_TARGET_END
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to functions of this file only
namespace weir::digest {
LaneFunction md5_apart_16, md5_apart_32, sha1_apart, sha256_apart;
}
#define md5_avx512_16 md5_apart_16
#define md5_avx512_32 md5_apart_32
#define sha1_avx512 sha1_apart
#define sha256_avx512 sha256_apart
#include "lanes/kernels/lanes_avx512.cpp"

namespace weir::digest {
namespace {

void expect_openssl(LaneFunction* run, LaneFunction* right_run, std::size_t lanes, std::size_t words) {
    const auto data = test::random_bytes(20'000, 1);
    std::mt19937_64 random(2);
    for (std::size_t blocks = 0; blocks < 4; ++blocks) {
        std::vector<std::uint32_t> state(words * lanes);
        for (auto& word : state) word = static_cast<std::uint32_t>(random());
        std::vector<const std::byte*> at(lanes);
        for (auto& one : at) one = data.data() + random() % (data.size() - 64 * blocks);
        auto taken = state;
        run(taken.data(), at.data(), blocks);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            BlockState right{};
            for (std::size_t word = 0; word < words; ++word) right[word] = state[word * lanes + lane];
            right_run(right.data(), &at[lane], blocks);
            for (std::size_t word = 0; word < words; ++word) ASSERT_EQ(taken[word * lanes + lane], right[word]) << lane;
        }
    }
}

TEST(LanesAvx512, VectorsTakenApartGiveTheStatesOfOpenssl) {
    expect_openssl(md5_apart_16, md5_openssl, 16, 4);
    expect_openssl(md5_apart_32, md5_openssl, 32, 4);
    expect_openssl(sha1_apart, sha1_openssl, 16, 5);
    expect_openssl(sha256_apart, sha256_openssl, 16, 8);
}

}  // namespace
}  // namespace weir::digest
#endif
