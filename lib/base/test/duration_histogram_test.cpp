// SPDX-License-Identifier: Apache-2.0
#include "weir/base/duration_histogram.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(DurationHistogram, ATimeIsInTheFirstBinWhoseEndIsNotBelowIt) {
    DurationHistogram histogram;
    for (const auto took : {0ns, 1'000'000ns, 1'000'001ns, 2'500'000ns, 30'000'000'000ns, 30'000'000'001ns})
        histogram.add(took);
    const auto now = histogram.durations();
    EXPECT_EQ(now.counts[0], 2U);
    EXPECT_EQ(now.counts[1], 2U);
    EXPECT_EQ(now.counts[duration_bounds_s.size() - 1], 1U);
    EXPECT_EQ(now.counts.back(), 1U);
    EXPECT_EQ(now.count(), 6U);
    EXPECT_NEAR(now.sum_s, 60.0045, 1e-5);
}

TEST(DurationHistogram, AClockThatWentBackCountsAsNoTime) {
    DurationHistogram histogram;
    histogram.add(-5s);
    EXPECT_EQ(histogram.durations().counts[0], 1U);
    EXPECT_EQ(histogram.durations().sum_s, 0);
}

TEST(DurationHistogram, ThoseOfSeveralPartsAddUp) {
    DurationHistogram a, b;
    a.add(5ms);
    b.add(5ms);
    b.add(3s);
    auto sum = a.durations();
    sum += b.durations();
    EXPECT_EQ(sum.count(), 3U);
    EXPECT_DOUBLE_EQ(sum.sum_s, 3.010);
}

TEST(DurationHistogram, NoTimeIsLostBetweenThreads) {
    DurationHistogram histogram;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&histogram, i] {
                for (int n = 0; n < 10'000; ++n) histogram.add(i * 10ms);
            });
    }
    EXPECT_EQ(histogram.durations().count(), 40'000U);
    EXPECT_NEAR(histogram.durations().sum_s, 600, 1e-6);
}

}  // namespace
}  // namespace weir
