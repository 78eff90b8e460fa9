// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/request_handlers.hpp"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

#include "store_sample.hpp"
#include "weir/readout/event_feed.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;

constexpr std::array all_strategies{WaitStrategy::yield, WaitStrategy::spin, WaitStrategy::park};

wire::DataRequest request_of(std::uint64_t number, std::vector<Level1Id> events) {
    return {
        .request = number, .kind = wire::RequestKind::level2, .events = std::move(events), .robs = {SourceId{0x10}}};
}

/// Flushes until so many answers came.
std::vector<wire::DataView> collect(RequestHandlers& handlers, std::counting_semaphore<>& made, std::size_t answers) {
    std::vector<wire::DataView> got;
    while (got.size() < answers) {
        if (!made.try_acquire_for(20s)) break;
        handlers.flush([&](const Answer& answer) {
            std::vector<std::byte> message(answer.head);
            message.insert(message.end(), answer.data.begin(), answer.data.end());
            wire::DataView view;
            EXPECT_TRUE(wire::decode(message, view).has_value());
            view.data = {};  // its bytes are gone
            got.push_back(std::move(view));
        });
    }
    return got;
}

class Handlers : public testing::Test {
protected:
    std::unique_ptr<RequestHandlers> make(RequestHandlerOptions options) {
        return std::make_unique<RequestHandlers>(store, options, clock, [this] { made.release(); });
    }
    SystemClock clock;
    RobStore store{sample_options()};
    std::counting_semaphore<> made{0};
};

TEST_F(Handlers, EachEventOfARequestIsAnsweredOnItsOwn) {
    ASSERT_EQ(put(store, 1, 0x10, "a"), PutResult::stored);
    ASSERT_EQ(put(store, 2, 0x10, "bb"), PutResult::stored);
    const auto handlers = make({.handlers = 1});
    auto request = request_of(17, {Level1Id{2}, Level1Id{1}});
    ASSERT_TRUE(handlers->give(wire::StationId{3}, request));
    const auto got = collect(*handlers, made, 2);
    ASSERT_EQ(got.size(), 2U);
    EXPECT_EQ(got[0].head.request, 17U);
    EXPECT_EQ(got[0].head.level1_id, Level1Id{2});
    EXPECT_EQ(got[0].head.robs[0].size, 2U);
    EXPECT_EQ(got[1].head.level1_id, Level1Id{1});
}

TEST_F(Handlers, WithEachStrategyDataThatComesLaterIsWaitedFor) {
    for (const auto strategy : all_strategies) {
        const auto handlers = make({.handlers = 3, .strategy = strategy, .wait_max = 20s});
        const auto event = store.oldest();
        auto request = request_of(1, {event});
        ASSERT_TRUE(handlers->give(wire::StationId{3}, request));
        while (handlers->stats().waits == 0) std::this_thread::yield();
        ASSERT_EQ(put(store, number(event), 0x10, "late"), PutResult::stored);
        const auto got = collect(*handlers, made, 1);
        ASSERT_EQ(got.size(), 1U) << name(strategy);
        EXPECT_EQ(got[0].head.robs[0].state, wire::RobState::here);
        handlers->stop();
        store.reset(event);
    }
}

TEST_F(Handlers, WithEachStrategyTheWaitEndsAtItsLimitWithNotYet) {
    for (const auto strategy : all_strategies) {
        const auto handlers = make({.handlers = 1, .strategy = strategy, .wait_max = 2ms});
        auto request = request_of(1, {Level1Id{1}, Level1Id{2}});  // one limit for both
        ASSERT_TRUE(handlers->give(wire::StationId{3}, request));
        const auto got = collect(*handlers, made, 2);
        ASSERT_EQ(got.size(), 2U);
        EXPECT_EQ(got[1].head.robs[0].state, wire::RobState::not_yet);
        EXPECT_EQ(handlers->stats().not_yet, 2U);
        handlers->stop();
        store.reset(Level1Id{1});
    }
}

TEST_F(Handlers, AnEventBeyondTheWindowIsNotWaitedFor) {
    const auto handlers = make({.handlers = 1, .wait_max = 1h});
    auto request = request_of(1, {Level1Id{1'000'000}});
    ASSERT_TRUE(handlers->give(wire::StationId{3}, request));
    EXPECT_EQ(collect(*handlers, made, 1).at(0).head.robs[0].state, wire::RobState::not_yet);
    EXPECT_EQ(handlers->stats().waits, 0U);
}

TEST_F(Handlers, AFullQueueRefusesAndStopEndsAllThatWaits) {
    for (const auto strategy : all_strategies) {
        const auto handlers = make({.handlers = 2, .strategy = strategy, .wait_max = 1h, .requests_max = 3});
        int taken = 0;
        for (int i = 0; i < 100; ++i) {
            auto request = request_of(1, {Level1Id{1}});
            taken += handlers->give(wire::StationId{3}, request) ? 1 : 0;
        }
        EXPECT_GE(taken, 3);
        EXPECT_LE(taken, 5);
        handlers->stop();
        const auto stats = handlers->stats();
        EXPECT_EQ(stats.handled + stats.discarded, static_cast<std::uint64_t>(taken));
        store.reset(Level1Id{1});
        while (made.try_acquire()) {
        }
    }
}

TEST_F(Handlers, StopEndsHandlersWhoseAnswersAreNotTaken) {
    const auto handlers = make({.handlers = 2, .requests_max = 1000});
    for (int i = 0; i < 500; ++i) {
        auto request = request_of(1, {Level1Id{1'000'000}});
        ASSERT_TRUE(handlers->give(wire::StationId{3}, request));
    }
    ASSERT_TRUE(made.try_acquire_for(20s));
    handlers->stop();
    const auto stats = handlers->stats();
    EXPECT_LE(stats.answers, 24U);  // as many as there is memory for
    EXPECT_EQ(stats.handled + stats.discarded, 500U);
}

TEST_F(Handlers, ManyRequestsThroughAFeedWithLatencyAreAllAnsweredWithEachStrategy) {
    const auto maker =
        workload::make_fragment_generator({.first_source = SourceId{0x10}, .robs = 3, .rob_size = Bytes{128}}).value();
    for (const auto strategy : all_strategies) {
        EventFeed feed(store, *maker, {.first = store.oldest(), .latency = 50us});
        NamedThread feeder("feeder", [&](const std::stop_token& stop) { feed.run(stop, clock); });
        RequestHandlers handlers(
            store, {.handlers = 4, .strategy = strategy, .wait_max = 20s}, clock, [this] { made.release(); },
            [&](Level1Id event, SteadyTime now) { feed.ask(event, now); });
        std::size_t here = 0;
        for (std::uint32_t round = 0; round < 5; ++round) {
            std::vector<Level1Id> events;
            for (std::uint32_t i = 0; i < 10; ++i) events.push_back(Level1Id{number(store.oldest()) + i});
            for (const auto event : events) {
                auto request = request_of(1, {event});
                ASSERT_TRUE(handlers.give(wire::StationId{3}, request));
            }
            const auto got = collect(handlers, made, events.size());
            for (const auto& view : got) here += view.head.robs[0].state == wire::RobState::here ? 1U : 0U;
            store.clear(events);
        }
        EXPECT_EQ(here, 50U) << name(strategy);
        handlers.stop();
        feeder.request_stop();
        feeder.join();
        store.reset(store.oldest());
        while (made.try_acquire()) {
        }
    }
}

}  // namespace
}  // namespace weir::readout
