// SPDX-License-Identifier: Apache-2.0
#include "weir/base/stoppable_sleep.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

TEST(StoppableSleep, LastsAsLongAsItIsToldWhenNothingStopsIt) {
    const std::stop_source source;
    const auto begin = Steady::now();
    EXPECT_TRUE(stoppable_sleep(20ms, source.get_token()));
    EXPECT_GE(Steady::now() - begin, 20ms);
    EXPECT_TRUE(stoppable_sleep(1ms, {})) << "a token without a source never stops";
}

TEST(StoppableSleep, AStopEndsItAtOnce) {
    std::stop_source source;
    const auto begin = Steady::now();
    std::jthread stops([&source] {
        EXPECT_TRUE(stoppable_sleep(5ms, {}));
        source.request_stop();
    });
    EXPECT_FALSE(stoppable_sleep(std::chrono::nanoseconds::max(), source.get_token()));
    EXPECT_LT(Steady::now() - begin, 10s);
}

TEST(StoppableSleep, NoTimeIsNoWaitButAStopIsStillSeen) {
    std::stop_source source;
    EXPECT_TRUE(stoppable_sleep(0ns, source.get_token()));
    EXPECT_TRUE(stoppable_sleep(-1h, source.get_token()));
    source.request_stop();
    EXPECT_FALSE(stoppable_sleep(0ns, source.get_token()));
    EXPECT_FALSE(stoppable_sleep(1h, source.get_token()));
}

}  // namespace
}  // namespace weir
