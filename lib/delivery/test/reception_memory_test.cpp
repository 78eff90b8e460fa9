// SPDX-License-Identifier: Apache-2.0
#include "receiving/reception_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::delivery {
namespace {

struct ReceptionMemoryTest : ::testing::Test {
    memory::BufferPool pool{Bytes{1000}};
    ReceptionMemory reception{pool};
};

TEST_F(ReceptionMemoryTest, OneAloneMayHoldAsMuchAsItNeeds) {
    ReceptionMemory::Place place;
    EXPECT_TRUE(reception.try_hold(900, place));
}

TEST_F(ReceptionMemoryTest, LargeEventsHaveHalfOfItAndSmallOnesTheRest) {
    std::vector<ReceptionMemory::Hold> large;
    ReceptionMemory::Place place, other;
    large.push_back(reception.try_hold(250, place));
    large.push_back(reception.try_hold(250, place));
    EXPECT_FALSE(reception.try_hold(250, place));
    EXPECT_FALSE(reception.try_hold(63, other));
    other = {};
    EXPECT_TRUE(reception.try_hold(62, other));  // 500 / 8
    large.pop_back();
    EXPECT_TRUE(reception.try_hold(250, place));
}

TEST_F(ReceptionMemoryTest, SaysHowManyWaitAndSinceWhenTheFirst) {
    const SteadyTime begin{};
    ReceptionMemory::Place first, second, none;
    auto hold = reception.try_hold(500, none, begin);
    EXPECT_EQ(reception.queue().events, 0U);
    EXPECT_FALSE(reception.try_hold(400, first, begin + std::chrono::seconds{1}));
    EXPECT_FALSE(reception.try_hold(400, second, begin + std::chrono::seconds{2}));
    EXPECT_FALSE(reception.try_hold(400, first, begin + std::chrono::seconds{3}));  // it has waited since it came
    EXPECT_EQ(reception.queue().events, 2U);
    EXPECT_EQ(reception.queue().since, begin + std::chrono::seconds{1});
    first = {};
    EXPECT_EQ(reception.queue().since, begin + std::chrono::seconds{2});
    hold.release();
    EXPECT_TRUE(reception.try_hold(400, second, begin + std::chrono::seconds{4}));
    EXPECT_EQ(reception.queue().events, 0U);
    EXPECT_FALSE(reception.queue().since);
}

TEST_F(ReceptionMemoryTest, NoEventOvertakesALargeOneThatWaits) {
    ReceptionMemory::Place place, others;
    std::vector<ReceptionMemory::Hold> ordinary;
    for (int i = 0; i < 5; ++i) ordinary.push_back(reception.try_hold(100, others));
    EXPECT_FALSE(reception.try_hold(300, place));
    for (int i = 0; i < 3; ++i) {  // one ends, and another one comes at once
        ordinary.erase(ordinary.begin());
        EXPECT_FALSE(reception.try_hold(100, others));
        others = {};
    }
    EXPECT_TRUE(reception.try_hold(50, others));
    EXPECT_TRUE(reception.try_hold(300, place));
}

TEST_F(ReceptionMemoryTest, AnEventLargerThanHalfOfItGetsItThoughSmallOnesGoOnComing) {
    ReceptionMemory::Place place, others;
    auto half = reception.try_hold(500, others);
    auto small = reception.try_hold(60, others);
    auto next = reception.try_hold(50, others);
    EXPECT_FALSE(reception.try_hold(900, place));
    half.release();
    EXPECT_FALSE(reception.try_hold(900, place));
    EXPECT_FALSE(reception.try_hold(20, others));  // more than an eighth of what remains
    others = {};
    small.release();
    EXPECT_TRUE(reception.try_hold(900, place));
}

TEST_F(ReceptionMemoryTest, EventsOfFallingSizesLeaveSomeOfItToOthers) {
    std::vector<ReceptionMemory::Hold> held;
    ReceptionMemory::Place place;
    std::size_t sum = 0;
    for (std::size_t size = 500; size > 5; --size) {
        while (auto hold = reception.try_hold(size, place)) {
            held.push_back(std::move(hold));
            sum += size;
        }
        place = {};
    }
    EXPECT_GT(sum, 900U);
    EXPECT_LE(sum, 960U);
    EXPECT_TRUE(reception.try_hold(4, place));
}

TEST_F(ReceptionMemoryTest, ARefusedEventIsNotifiedWhenMemoryIsReleased) {
    int notified = 0;
    reception.on_released([&] { ++notified; });
    ReceptionMemory::Place place, other;
    auto first = reception.try_hold(500, place);
    auto second = reception.try_hold(60, place);
    second.release();
    EXPECT_EQ(notified, 0);
    EXPECT_FALSE(reception.try_hold(400, place));
    EXPECT_FALSE(reception.try_hold(300, other));
    first.release();
    EXPECT_EQ(notified, 1);
    EXPECT_FALSE(reception.try_hold(300, other)) << "the other one has waited longer";
    place = {};
    EXPECT_EQ(notified, 2);
    EXPECT_TRUE(reception.try_hold(300, other));
}

TEST_F(ReceptionMemoryTest, ThePaceRisesWithWhatIsHeld) {
    ReceptionMemory::Place place;
    EXPECT_EQ(reception.pace_factor(), 1U);
    const auto half = reception.try_hold(500, place);
    EXPECT_EQ(reception.pace_factor(), 9U);
    std::vector<ReceptionMemory::Hold> rest;
    for (const std::size_t size : {62U, 54U, 47U, 41U, 36U}) rest.push_back(reception.try_hold(size, place));
    EXPECT_EQ(reception.pace_factor(), 12U);  // 740 of 500
}

}  // namespace
}  // namespace weir::delivery
