// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/event_loop.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "weir/transport/timer_queue.hpp"

namespace weir::transport {
namespace {

using namespace std::chrono_literals;

struct Pipe {
    Pipe() {
        std::array<int, 2> fds{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()), 0);
        near = Socket(fds[0]);
        far = Socket(fds[1]);
    }
    Socket near, far;
};

SteadyTime now() { return std::chrono::steady_clock::now(); }

TEST(EventLoop, ReportsASocketForAsLongAsItIsReady) {
    auto loop = EventLoop::create().value();
    Pipe pipe;
    ASSERT_TRUE(loop.add(pipe.near.fd(), {.read = true}, 7).has_value());
    EXPECT_TRUE(loop.wait(now(), now()).empty());
    ASSERT_TRUE(pipe.far.write(as_data("x")).has_value());
    for (int round = 0; round < 2; ++round) {
        const auto ready = loop.wait(now() + 60s, now());
        ASSERT_EQ(ready.size(), 1U);
        EXPECT_EQ(ready[0].token, 7U);
        EXPECT_TRUE(ready[0].read);
        EXPECT_FALSE(ready[0].gone);
    }
    std::array<std::byte, 4> room{};
    ASSERT_TRUE(pipe.near.read(room).has_value());
    EXPECT_TRUE(loop.wait(now(), now()).empty());
}

TEST(EventLoop, WithoutInterestReportsOnlyAPeerThatIsGone) {
    auto loop = EventLoop::create().value();
    Pipe pipe;
    ASSERT_TRUE(loop.add(pipe.near.fd(), {.read = true, .write = true}, 1).has_value());
    ASSERT_TRUE(pipe.far.write(as_data("x")).has_value());
    ASSERT_TRUE(loop.change(pipe.near.fd(), {}, 1).has_value());
    EXPECT_TRUE(loop.wait(now(), now()).empty());
    pipe.far.close();
    const auto ready = loop.wait(now() + 60s, now());
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_TRUE(ready[0].gone);
    loop.remove(pipe.near.fd());
    EXPECT_TRUE(loop.wait(now(), now()).empty());
}

TEST(EventLoop, IsWokenFromAnotherThreadAndOnceForManyWakes) {
    auto loop = EventLoop::create().value();
    {
        const std::jthread other([&loop] {
            for (int i = 0; i < 10; ++i) loop.wake();
        });
        EXPECT_TRUE(loop.wait(std::nullopt, now()).empty());
    }
    loop.wake();
    EXPECT_TRUE(loop.wait(std::nullopt, now()).empty());
    const auto before = now();
    EXPECT_TRUE(loop.wait(before + 5ms, before).empty());
    EXPECT_GE(now() - before, 5ms);
}

TEST(EventLoop, APauseLastsWhateverIsReadyButAWakeUpEndsIt) {
    auto loop = EventLoop::create().value();
    const auto begin = now();
    loop.pause(200us);
    EXPECT_GE(now() - begin, 200us);
    std::jthread wakes([&loop] {
        std::this_thread::sleep_for(5ms);
        loop.wake();
    });
    loop.pause(1h);
    EXPECT_TRUE(loop.wait(std::nullopt, now()).empty()) << "the same wake-up ends the next wait";
    EXPECT_LT(now() - begin, 10s);
}

TEST(EventLoop, ADeadlineInThePastDoesNotWait) {
    auto loop = EventLoop::create().value();
    EXPECT_TRUE(loop.wait(now() - 1h, now()).empty());
}

TEST(TimerQueue, GivesDueTokensInTheOrderOfTheirDeadlines) {
    TimerQueue timers;
    const SteadyTime start{};
    EXPECT_FALSE(timers.next().has_value());
    timers.set(start + 30ms, 3);
    timers.set(start + 10ms, 1);
    timers.set(start + 20ms, 2);
    EXPECT_EQ(timers.next(), start + 10ms);
    EXPECT_FALSE(timers.take_due(start + 9ms).has_value());
    EXPECT_EQ(timers.take_due(start + 25ms), 1U);
    EXPECT_EQ(timers.take_due(start + 25ms), 2U);
    EXPECT_FALSE(timers.take_due(start + 25ms).has_value());
    EXPECT_EQ(timers.size(), 1U);
}

}  // namespace
}  // namespace weir::transport
