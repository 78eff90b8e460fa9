// SPDX-License-Identifier: Apache-2.0
// Every implementation of md5, sha1 and sha256 in lanes against OpenSSL's.
#include "lanes/lane_kernels.hpp"

#include <gtest/gtest.h>

#include "lanes/block_hash.hpp"
#include "samples.hpp"

namespace weir::digest {
namespace {

constexpr std::array block_hashes{Algorithm::md5, Algorithm::sha1, Algorithm::sha256};

TEST(LaneKernels, EachLaneTakesTheBlocksOfItsOwnStreamFromAnyState) {
    const auto features = LaneFeatures::detect();
    const auto data = test::random_bytes(80'000, 1);
    std::mt19937_64 random(2);
    for (const auto algorithm : block_hashes) {
        const auto kernels = lane_kernels(algorithm);
        const auto words = block_hash(algorithm).words;
        for (const auto& kernel : kernels) {
            if (!kernel.usable(features)) continue;
            ASSERT_LE(kernel.lanes, lanes_max);
            for (std::size_t blocks = 0; blocks < 9; ++blocks) {
                std::vector<std::uint32_t> state(words * kernel.lanes + 1, 0x5a5a5a5a);
                for (std::size_t i = 0; i < words * kernel.lanes; ++i) state[i] = static_cast<std::uint32_t>(random());
                std::vector<const std::byte*> at(kernel.lanes);
                for (auto& one : at) one = data.data() + random() % (data.size() - 64 * blocks);
                auto taken = state;
                kernel.run(taken.data(), at.data(), blocks);
                EXPECT_EQ(taken.back(), 0x5a5a5a5a) << kernel.name << " wrote too much";
                for (std::size_t lane = 0; lane < kernel.lanes; ++lane) {
                    BlockState right{};
                    for (std::size_t word = 0; word < words; ++word) right[word] = state[word * kernel.lanes + lane];
                    kernels.front().run(right.data(), &at[lane], blocks);
                    for (std::size_t word = 0; word < words; ++word)
                        ASSERT_EQ(taken[word * kernel.lanes + lane], right[word])
                            << name(algorithm) << " " << kernel.name << ", lane " << lane << ", " << blocks
                            << " blocks";
                }
            }
        }
    }
}

TEST(LaneKernels, AreChosenByTheNumberOfStreamsAndByWhatABlockOfAllLanesTakes) {
    const auto usable = [](const LaneFeatures&) noexcept { return true; };
    const LaneKernel kernels[] = {
        {"one", usable, 1, nullptr}, {"four", usable, 4, nullptr}, {"sixteen", usable, 16, nullptr}};
    const std::array costs{100.0, 180.0, 600.0};  // 100, 45 and 37.5 a stream
    const auto chosen = [&](std::span<const double> taken, std::size_t streams) {
        return best_lanes(kernels, taken, streams).name;
    };
    EXPECT_EQ(chosen(costs, 1), "one");
    EXPECT_EQ(chosen(costs, 2), "four") << "two of its lanes are empty, and it still wins";
    EXPECT_EQ(chosen(costs, 12), "four");
    EXPECT_EQ(chosen(costs, 14), "sixteen");
    EXPECT_EQ(chosen(costs, 100), "sixteen") << "they take turns";
    EXPECT_EQ(chosen(std::array{100.0, 180.0, 0.0}, 100), "four") << "what the processor cannot run is left out";
    EXPECT_EQ(chosen(std::array{100.0, 0.0, 0.0}, 100), "one");
}

TEST(LaneKernels, EachOneThatTheProcessorCanRunWasMeasured) {
    const auto features = LaneFeatures::detect();
    for (const auto algorithm : block_hashes) {
        const auto kernels = lane_kernels(algorithm);
        const auto costs = lane_costs(algorithm);
        ASSERT_EQ(costs.size(), kernels.size());
        for (std::size_t i = 0; i < costs.size(); ++i)
            EXPECT_EQ(costs[i] > 0, kernels[i].usable(features)) << kernels[i].name;
        EXPECT_EQ(costs.data(), lane_costs(algorithm).data()) << "once";
    }
}

}  // namespace
}  // namespace weir::digest
