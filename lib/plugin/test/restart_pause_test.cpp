// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/restart_pause.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace weir::plugin {
namespace {

using namespace std::chrono_literals;

TEST(RestartPause, DoublesUpToItsLimitAndBeginsAnewAfterWork) {
    const ManualClock clock;
    RestartPause pause(2ms, 5ms, clock);
    EXPECT_EQ(pause.length(), 0ms);
    pause.grow();
    EXPECT_EQ(pause.length(), 2ms);
    pause.grow();
    EXPECT_EQ(pause.length(), 4ms);
    pause.grow();
    EXPECT_EQ(pause.length(), 5ms);
    pause.reset();
    pause.grow();
    EXPECT_EQ(pause.length(), 2ms);
}

TEST(RestartPause, IsWaitedOutUnlessItIsStopped) {
    const SystemClock clock;
    RestartPause pause(10ms, 1h, clock);
    EXPECT_TRUE(pause.wait({}));
    pause.grow();
    const auto began = clock.now();
    EXPECT_TRUE(pause.wait({}));
    EXPECT_GE(clock.now() - began, 9ms);
    std::stop_source stop;
    stop.request_stop();
    RestartPause longer(1h, 1h, clock);
    longer.grow();
    EXPECT_FALSE(longer.wait(stop.get_token()));
}

TEST(RestartPause, AStopEndsItInTheMiddle) {
    const SystemClock clock;
    RestartPause pause(1h, 1h, clock);
    pause.grow();
    std::stop_source stop;
    const std::jthread stops([&stop] { stop.request_stop(); });
    EXPECT_FALSE(pause.wait(stop.get_token()));
}

TEST(RestartPause, IsMeasuredByItsClock) {
    ManualClock clock;
    RestartPause pause(1h, 1h, clock);
    pause.grow();
    clock.advance(1h);
    EXPECT_TRUE(pause.wait({}));
}

}  // namespace
}  // namespace weir::plugin
