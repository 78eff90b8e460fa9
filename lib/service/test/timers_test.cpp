// SPDX-License-Identifier: Apache-2.0
#include "weir/service/timers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace weir::service {
namespace {

using namespace std::chrono_literals;

TEST(Timers, AnActionRunsOnceAnIntervalAndOnceWhenItIsLate) {
    ManualClock clock;
    Timers timers(clock);
    int runs = 0;
    auto periodic = timers.every(10ms, [&] { ++runs; });
    EXPECT_EQ(timers.step(clock.now()), clock.now() + 10ms);
    EXPECT_EQ(runs, 0);
    clock.advance(10ms);
    static_cast<void>(timers.step(clock.now()));
    EXPECT_EQ(runs, 1);
    clock.advance(1s);
    EXPECT_EQ(timers.step(clock.now()), clock.now() + 10ms);
    EXPECT_EQ(runs, 2);
    periodic.cancel();
    clock.advance(1s);
    EXPECT_EQ(timers.step(clock.now()), std::nullopt);
    EXPECT_EQ(runs, 2);
}

TEST(Timers, TheThreadRunsWhatWasAddedLaterAndSooner) {
    const SystemClock clock;
    Timers timers(clock);
    timers.start();
    const auto slow = timers.every(1h, [] {});
    std::atomic<int> runs{0};
    const auto fast = timers.every(1ms, [&] { ++runs; });
    while (runs < 3) std::this_thread::sleep_for(1ms);
}

TEST(Timers, TheEndOfAnActionWaitsForItToHaveRun) {
    const SystemClock clock;
    Timers timers(clock);
    timers.start();
    std::atomic<bool> inside{false}, done{false};
    auto periodic = timers.every(1ms, [&] {
        inside = true;
        std::this_thread::sleep_for(5ms);
        done = true;
    });
    while (!inside) std::this_thread::yield();
    periodic.cancel();
    EXPECT_TRUE(done);
}

}  // namespace
}  // namespace weir::service
