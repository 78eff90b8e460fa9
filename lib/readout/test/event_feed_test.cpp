// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/event_feed.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "store_sample.hpp"
#include "weir/base/named_thread.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;
using wire::RobState;

std::unique_ptr<workload::FragmentMaker> generator() {
    return workload::make_fragment_generator({.first_source = SourceId{0x10}, .robs = 3, .rob_size = Bytes{256}})
        .value();
}

TEST(EventFeed, FillsTheWindowInOrderAndGoesOnAsEventsAreCleared) {
    auto options = sample_options();
    options.events_max = 100;
    RobStore store(options);
    const auto maker = generator();
    EventFeed feed(store, *maker, {.step_max = 64});
    EXPECT_EQ(feed.step({}).events, 64U);
    EXPECT_EQ(feed.step({}).events, 36U);
    EXPECT_EQ(feed.step({}).events, 0U);
    EXPECT_EQ(state(store, 100, 0x12), RobState::here);
    EXPECT_EQ(state(store, 101, 0x12), RobState::not_yet);
    clear(store, {7, 50});
    EXPECT_EQ(feed.step({}).events, 2U);
    EXPECT_EQ(state(store, 102, 0x12), RobState::here);
}

TEST(EventFeed, CountsBySourceWhatItHasPut) {
    RobStore store(sample_options());
    const auto maker = generator();
    EventFeed feed(store, *maker, {});
    const auto events = feed.step({}).events;
    ASSERT_GT(events, 0U);
    const auto sources = feed.sources();
    ASSERT_EQ(sources.size(), store.sources().size());
    std::uint64_t fragments = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        EXPECT_EQ(sources[i].source, store.sources()[i]);
        EXPECT_EQ(sources[i].arrived, events);
        EXPECT_GT(sources[i].bytes, events * 20U);
        EXPECT_FALSE(sources[i].outside);
        fragments += sources[i].arrived;
    }
    EXPECT_EQ(fragments, store.ledger().counts().received);
}

TEST(EventFeed, OfARestartedReadoutJumpsToTheOldestEventThatIsNotDoneWith) {
    RobStore store(sample_options());
    const auto maker = generator();
    EventFeed feed(store, *maker, {});
    EXPECT_EQ(feed.step({}).events, 64U);
    store.clear_older(Level1Id{1'000'000});
    EXPECT_EQ(feed.step({}).events, 64U);
    EXPECT_EQ(state(store, 999'999, 0x10), RobState::cleared);
    EXPECT_EQ(state(store, 1'000'000, 0x10), RobState::here);
    EXPECT_EQ(state(store, 1'000'063, 0x10), RobState::here);
}

TEST(EventFeed, GoesOverTheWrapOfTheCounter) {
    auto options = sample_options();
    options.first = Level1Id{0xffff'fff0};
    RobStore store(options);
    const auto maker = generator();
    EventFeed feed(store, *maker, {.first = options.first});
    EXPECT_EQ(feed.step({}).events, 64U);
    EXPECT_EQ(state(store, 0xffff'ffff, 0x10), RobState::here);
    EXPECT_EQ(state(store, 5, 0x10), RobState::here);
}

TEST(EventFeed, WithALatencyAnEventComesThatLongAfterItWasAskedFor) {
    RobStore store(sample_options());
    const auto maker = generator();
    EventFeed feed(store, *maker, {.latency = 500us});
    const SteadyTime start{1s};
    EXPECT_EQ(feed.step(start).events, 0U);
    feed.ask(Level1Id{3}, start);
    feed.ask(Level1Id{3}, start + 100us);  // again
    feed.ask(Level1Id{9}, start + 200us);
    EXPECT_EQ(feed.step(start + 499us).due, start + 500us);
    EXPECT_EQ(feed.step(start + 500us).events, 1U);
    EXPECT_EQ(state(store, 3, 0x10), RobState::here);
    EXPECT_EQ(state(store, 9, 0x10), RobState::not_yet);
    EXPECT_EQ(feed.step(start + 700us).events, 1U);
    EXPECT_EQ(state(store, 9, 0x10), RobState::here);
    feed.ask(Level1Id{100'000}, start);  // outside the window: not kept
    EXPECT_EQ(feed.step(start + 1s).events, 0U);
}

TEST(EventFeed, ItsThreadSleepsWhileThereIsNoRoomAndEndsOnRequest) {
    auto options = sample_options();
    options.events_max = 8;
    RobStore store(options);
    const auto maker = generator();
    const SystemClock clock;
    for (const auto latency :
         {std::optional<std::chrono::nanoseconds>{}, std::optional<std::chrono::nanoseconds>{1us}}) {
        EventFeed feed(store, *maker, {.first = store.oldest(), .latency = latency});
        NamedThread thread("feeder", [&](const std::stop_token& stop) { feed.run(stop, clock); });
        for (std::uint32_t i = 0; i < 100; ++i) {
            const auto event = store.oldest();
            feed.ask(event, clock.now());
            ASSERT_TRUE(store.wait_until_ready(event, {}, clock.now() + 20s));
            store.clear(std::span(&event, 1));
        }
        thread.request_stop();
        store.stop_waiting();
        thread.join();
        store.reset(store.oldest());
    }
}

}  // namespace
}  // namespace weir::readout
