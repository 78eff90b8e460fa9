// SPDX-License-Identifier: Apache-2.0
#include "accounts/lumi_blocks.hpp"

#include <gtest/gtest.h>

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class LumiBlocksTest : public ::testing::Test {
protected:
    static SteadyTime at(std::chrono::seconds seconds) { return SteadyTime{} + 1000s + seconds; }
    static StreamTag tag(bool obeys = true) {
        StreamTag tag;
        tag.type = "physics";
        tag.name = "Main";
        tag.obeys_lumi_block = obeys;
        return tag;
    }
    void opened(std::uint32_t block, std::chrono::seconds when) {
        blocks_.file_opened(tag(), LumiBlock{block}, at(when));
    }
    void closed(std::uint32_t block, std::chrono::seconds when) {
        blocks_.file_closed("physics", "Main", LumiBlock{block}, at(when));
    }
    /// The blocks whose rows are closed now.
    std::vector<std::uint32_t> taken(std::chrono::seconds when) {
        std::vector<std::uint32_t> numbers;
        if (const auto closed = blocks_.take_closed(at(when))) {
            for (const auto& block : closed->blocks) numbers.push_back(number(block.lumi_block));
        }
        return numbers;
    }

    LumiBlocks blocks_{10s};
};

using Numbers = std::vector<std::uint32_t>;

TEST_F(LumiBlocksTest, ABlockIsOverAGraceTimeAfterANewerOneAndAfterItsOwnLastEvent) {
    blocks_.saw(LumiBlock{3}, at(0s));
    blocks_.saw(LumiBlock{4}, at(20s));
    EXPECT_FALSE(blocks_.over(LumiBlock{3}, at(0s), at(29s)));
    EXPECT_TRUE(blocks_.over(LumiBlock{3}, at(0s), at(30s)));
    EXPECT_FALSE(blocks_.over(LumiBlock{3}, at(21s), at(30s)));
    EXPECT_FALSE(blocks_.over(LumiBlock{4}, at(20s), at(1000s)));
}

TEST_F(LumiBlocksTest, BlocksThatAreShorterThanTheGraceTimeEndAllTheSame) {
    for (std::uint32_t n = 1; n <= 30; ++n) blocks_.saw(LumiBlock{n}, at(std::chrono::seconds{2 * n}));
    EXPECT_TRUE(blocks_.over(LumiBlock{24}, at(49s), at(60s)));
    EXPECT_FALSE(blocks_.over(LumiBlock{25}, at(51s), at(60s)));
}

TEST_F(LumiBlocksTest, ARowIsClosedWhenNoFileOfItIsOpenAndOpensAgainWithALateOne) {
    opened(3, 0s);
    blocks_.saw(LumiBlock{3}, at(0s));
    blocks_.saw(LumiBlock{4}, at(1s));
    EXPECT_EQ(taken(50s), Numbers{});  // its file is open
    closed(3, 50s);
    EXPECT_EQ(taken(59s), Numbers{});  // perhaps its next file comes
    EXPECT_EQ(taken(60s), Numbers{3});
    EXPECT_FALSE(blocks_.take_closed(at(61s)));
    opened(3, 62s);
    closed(3, 63s);
    EXPECT_EQ(taken(72s), Numbers{});
    EXPECT_EQ(taken(73s), Numbers{3});
}

TEST_F(LumiBlocksTest, BlocksWithoutARowAreClosedByTheirNumber) {
    blocks_.saw(LumiBlock{7}, at(0s));
    blocks_.saw(LumiBlock{9}, at(5s));
    const auto first = blocks_.take_closed(at(10s));
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->below, 7U);
    EXPECT_FALSE(blocks_.take_closed(at(14s)));
    blocks_.not_written(*first);  // the catalogue was away
    EXPECT_EQ(blocks_.take_closed(at(14s))->below, 7U);
    EXPECT_EQ(blocks_.take_closed(at(15s))->below, 9U);
}

TEST_F(LumiBlocksTest, AStreamWithoutBlocksHasNoRowThatCloses) {
    blocks_.file_opened(tag(false), LumiBlock{0}, at(0s));
    closed(0, 0s);
    blocks_.saw(LumiBlock{7}, at(0s));
    EXPECT_EQ(taken(50s), Numbers{});
}

TEST_F(LumiBlocksTest, ASenderThatJumpsBetweenBlocksCostsNoMemory) {
    for (std::uint32_t n = 1; n <= 100'000; ++n) blocks_.saw(LumiBlock{n}, at(0s));
    EXPECT_TRUE(blocks_.over(LumiBlock{99'999}, at(0s), at(10s)));
}

}  // namespace
}  // namespace weir::recorder
