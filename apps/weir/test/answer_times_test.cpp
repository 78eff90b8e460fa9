// SPDX-License-Identifier: Apache-2.0
#include "send/answer_times.hpp"

#include <gtest/gtest.h>

namespace weir::app {
namespace {

using namespace std::chrono_literals;

TEST(AnswerTimes, QuantilesAreRightToThreePercentAndTheLongestIsExact) {
    AnswerTimes times;
    for (int ms = 1; ms <= 1000; ++ms) times.add(std::chrono::milliseconds{ms});
    EXPECT_EQ(times.count(), 1000U);
    EXPECT_EQ(times.longest(), 1000ms);
    EXPECT_NEAR(static_cast<double>(times.quantile(0.5).count()), 500e6, 16e6);
    EXPECT_NEAR(static_cast<double>(times.quantile(0.99).count()), 990e6, 31e6);
    EXPECT_EQ(times.quantile(1), 1000ms);
}

TEST(AnswerTimes, NoneIsZeroAndAnyLengthIsCounted) {
    AnswerTimes times;
    EXPECT_EQ(times.quantile(0.5), 0ns);
    EXPECT_EQ(times.longest(), 0ns);
    for (const auto time : {-5ns, 0ns, 1ns, 31ns, 32ns, 33ns, std::chrono::nanoseconds::max()}) times.add(time);
    EXPECT_EQ(times.count(), 7U);
    EXPECT_EQ(times.longest(), std::chrono::nanoseconds::max());
    EXPECT_EQ(times.quantile(1), std::chrono::nanoseconds::max());
    EXPECT_LE(times.quantile(0.5), 34ns);
}

}  // namespace
}  // namespace weir::app
