// SPDX-License-Identifier: Apache-2.0
#include "weir/recorder/segment_pool.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class SegmentPoolTest : public ::testing::Test {
protected:
    bool take(std::size_t count) { return pool_.try_take(count, taken_); }

    void release(std::size_t count = 1) {
        for (; count > 0; --count) {
            pool_.release(taken_.back());
            taken_.pop_back();
        }
    }

    ManualClock clock_;
    SegmentPool pool_{32_KiB, 4_KiB, clock_};  // 8 segments
    std::vector<std::byte*> taken_;
};

TEST_F(SegmentPoolTest, AllOrNone) {
    EXPECT_TRUE(take(6));
    EXPECT_FALSE(take(3));
    EXPECT_EQ(taken_.size(), 6U);
    EXPECT_EQ(pool_.free_count(), 2U);
}

TEST_F(SegmentPoolTest, ALargeRequestIsServedAlthoughSmallOnesComeWithEverySegment) {
    ASSERT_TRUE(take(8));
    EXPECT_FALSE(take(1));
    EXPECT_FALSE(take(4));
    std::size_t small = 0, large = 0;
    for (int freed = 0; freed < 5; ++freed) {
        release();
        if (take(1)) ++small;
        if (take(4)) ++large;
        clock_.advance(SegmentPool::wish_lifetime / 2);
    }
    EXPECT_EQ(small, 1U);  // it came before the large one
    EXPECT_EQ(large, 1U);
}

TEST_F(SegmentPoolTest, ASmallRequestIsServedAlthoughLargerOnesCome) {
    ASSERT_TRUE(take(8));
    EXPECT_FALSE(take(2));
    EXPECT_FALSE(take(3));
    release(4);
    EXPECT_FALSE(take(3));  // it would leave one
    EXPECT_TRUE(take(2));
    EXPECT_FALSE(take(3));
    release();
    EXPECT_TRUE(take(3));
}

TEST_F(SegmentPoolTest, MoreThanTheEarlierOnesWishForIsForEverybody) {
    ASSERT_TRUE(take(6));
    EXPECT_FALSE(take(4));
    release(3);
    EXPECT_TRUE(take(1));
    EXPECT_FALSE(take(1));
    EXPECT_TRUE(take(4));
}

TEST_F(SegmentPoolTest, ARequestThatDoesNotComeAgainIsForgotten) {
    ASSERT_TRUE(take(4));
    EXPECT_FALSE(take(8));
    clock_.advance(SegmentPool::wish_lifetime - 1ms);
    EXPECT_FALSE(take(1));
    clock_.advance(1ms);
    EXPECT_TRUE(take(1));
}

TEST_F(SegmentPoolTest, ARefusedRequestIsNotifiedOnceWhenItMayComeAgain) {
    int calls = 0;
    pool_.on_freed([&] { ++calls; });
    pool_.wake_refused();
    ASSERT_TRUE(take(8));
    release();
    EXPECT_EQ(calls, 0);  // no request was refused
    EXPECT_FALSE(take(2));
    release();
    EXPECT_EQ(calls, 1);
    release();
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(take(2) && take(2));
    pool_.wake_refused();
    EXPECT_EQ(calls, 2);
}

TEST_F(SegmentPoolTest, WhoIsNotifiedMayChangeWhileAnotherThreadReleases) {
    pool_.on_freed([] {});
    ASSERT_TRUE(take(8));
    EXPECT_FALSE(take(2));
    std::jthread writing([&] { release(); });  // nothing puts it before or behind the change
    pool_.on_freed({});
    writing.join();
    EXPECT_EQ(pool_.free_count(), 1U);
}

}  // namespace
}  // namespace weir::recorder
