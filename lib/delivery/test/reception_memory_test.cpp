// SPDX-License-Identifier: Apache-2.0
#include "reception_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::delivery {
namespace {

struct ReceptionMemoryTest : ::testing::Test {
    memory::BufferPool pool{Bytes{1000}};
    ReceptionMemory reception{pool};
};

TEST_F(ReceptionMemoryTest, OneAloneMayHoldAsMuchAsItNeeds) { EXPECT_TRUE(reception.try_hold(900)); }

TEST_F(ReceptionMemoryTest, LargeEventsHaveHalfOfItAndFairSharesTheRest) {
    std::vector<ReceptionMemory::Hold> large;
    large.push_back(reception.try_hold(250));
    large.push_back(reception.try_hold(250));
    EXPECT_FALSE(reception.try_hold(250));
    EXPECT_FALSE(reception.try_hold(167));
    EXPECT_TRUE(reception.try_hold(166));  // 500 / 3
    large.pop_back();
    EXPECT_TRUE(reception.try_hold(250));
}

TEST_F(ReceptionMemoryTest, WhoWasRefusedIsToldWhenMemoryIsGivenBack) {
    int told = 0;
    reception.on_released([&] { ++told; });
    auto first = reception.try_hold(500);
    auto second = reception.try_hold(100);
    second.release();
    EXPECT_EQ(told, 0);
    EXPECT_FALSE(reception.try_hold(400));
    first.release();
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(reception.try_hold(400));
}

TEST_F(ReceptionMemoryTest, ThePaceRisesWithWhatIsHeld) {
    EXPECT_EQ(reception.pace_factor(), 1U);
    const auto half = reception.try_hold(500);
    EXPECT_EQ(reception.pace_factor(), 9U);
    const auto rest = reception.try_hold(250);
    EXPECT_EQ(reception.pace_factor(), 13U);
}

}  // namespace
}  // namespace weir::delivery
