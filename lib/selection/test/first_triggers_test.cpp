// SPDX-License-Identifier: Apache-2.0
#include "triggers/outside/first_triggers.hpp"

#include <gtest/gtest.h>

#include <string>

#include "triggers/trigger_time.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

constexpr SourceId source{0x42'0000};

class First : public ::testing::Test {
protected:
    First()
        : triggers(source, Level1Id{1}, Reporter([this](const Report& report) { alarms += report.alarm + " "; }),
                   clock) {
        triggers.start_run(clock.now());
    }
    bool seen(std::uint64_t first, std::vector<std::uint32_t> ids) {
        wire::FragmentSeen message{.first = first, .source = source};
        for (const auto id : ids) message.fragments.push_back({.level1_id = Level1Id{id}, .time_ns = 1000 + id});
        return triggers.seen(message, clock.now());
    }
    std::vector<std::uint32_t> taken(std::size_t room = 1000) {
        std::vector<std::uint32_t> ids;
        triggers.collect(clock.now(), room);
        while (triggers.due(clock.now())) ids.push_back(number(triggers.take(clock.now()).level1_id));
        return ids;
    }
    using Ids = std::vector<std::uint32_t>;

    ManualClock clock;
    std::string alarms;
    FirstTriggers triggers;
};

TEST_F(First, AFragmentIsATriggerWithItsIdAndTime) {
    ASSERT_TRUE(seen(0, {1, 2}));
    triggers.collect(clock.now(), 1);
    const auto ticket = triggers.take(clock.now());
    EXPECT_EQ(ticket.level1_id, Level1Id{1});
    EXPECT_EQ(time_ns(ticket), 1001);
    EXPECT_FALSE(triggers.due(clock.now()));
    EXPECT_EQ(triggers.next(), clock.now()) << "there is another one";
    triggers.collect(clock.now(), 0);
    EXPECT_EQ(triggers.next(), std::nullopt) << "the thread sleeps until there is room";
    EXPECT_EQ(taken(), (Ids{2}));
    EXPECT_EQ(alarms, "");
}

TEST_F(First, MessagesThatOvertookEachOtherArePutInOrder) {
    ASSERT_TRUE(seen(4, {5}));
    EXPECT_EQ(taken(), Ids{});
    ASSERT_TRUE(seen(2, {3, 4}));
    ASSERT_TRUE(seen(0, {1, 2}));
    EXPECT_EQ(taken(), (Ids{1, 2, 3, 4, 5}));
}

TEST_F(First, FragmentsOutOfOrderAreWaitedForAndWhatNeverComesIsLost) {
    ASSERT_TRUE(seen(0, {1, 3}));
    EXPECT_EQ(taken(), (Ids{1}));
    ASSERT_TRUE(seen(2, {2}));
    EXPECT_EQ(taken(), (Ids{2, 3}));
    ASSERT_TRUE(seen(3, {5, 6}));
    EXPECT_EQ(taken(), Ids{});
    EXPECT_EQ(triggers.next(), clock.now() + FirstTriggers::missing_wait);
    clock.advance(FirstTriggers::missing_wait);
    EXPECT_EQ(taken(), (Ids{5, 6}));
    EXPECT_EQ(triggers.take_skipped(), (std::vector<SkippedIds>{{Level1Id{4}, 1}}));
    ASSERT_TRUE(seen(5, {4}));
    EXPECT_EQ(taken(), Ids{});
    EXPECT_EQ(alarms, "triggers_lost triggers_out_of_order ");
    const auto counts = triggers.counts();
    EXPECT_EQ(counts.received, counts.taken + counts.out_of_order);
    EXPECT_EQ(counts.lost, 0U);
}

TEST_F(First, AFragmentThatIsMissingMayWaitForRoomItselfAndIsWaitedForAnew) {
    ASSERT_TRUE(seen(0, {1, 3}));
    EXPECT_EQ(taken(), (Ids{1}));
    EXPECT_EQ(taken(0), Ids{});
    clock.advance(10s);  // paused, or busy
    EXPECT_EQ(taken(), Ids{});
    ASSERT_TRUE(seen(2, {2}));
    EXPECT_EQ(taken(), (Ids{2, 3}));
    EXPECT_EQ(triggers.counts().lost, 0U);
}

TEST_F(First, WhatIsNoEventAtTheEndIsCountedAsStopping) {
    ASSERT_TRUE(seen(0, {1, 2, 3}));
    EXPECT_EQ(triggers.counts().received, 3U);
    EXPECT_EQ(triggers.counts().in_hand, 3U);
    EXPECT_EQ(taken(1), (Ids{1}));
    triggers.end_input();
    ASSERT_TRUE(seen(3, {4}));
    const auto counts = triggers.counts();
    EXPECT_EQ(counts.received, 4U);
    EXPECT_EQ(counts.taken, 1U);
    EXPECT_EQ(counts.stopping, 3U);
    EXPECT_EQ(counts.in_hand, 0U);
}

TEST_F(First, ManyThatAreThereDoNotWaitForOneThatIsNot) {
    Ids ids;
    for (std::uint32_t id = 2; id < 2 + FirstTriggers::ahead_max; ++id) ids.push_back(id);
    ASSERT_TRUE(seen(0, ids));
    EXPECT_FALSE(taken().empty());
    EXPECT_EQ(triggers.counts().lost, 1U);
}

TEST_F(First, AReadoutThatWasStartedAgainCountsFromZero) {
    ASSERT_TRUE(seen(0, {1, 2}));
    EXPECT_EQ(taken(), (Ids{1, 2}));
    EXPECT_FALSE(seen(0, {3})) << "it was reported before";
    triggers.restarted();
    ASSERT_TRUE(seen(0, {3}));
    EXPECT_EQ(taken(), (Ids{3}));
}

TEST_F(First, WhatIsNoMessageOfItsReadoutIsNotTaken) {
    EXPECT_FALSE(
        triggers.seen({.first = 0, .source = SourceId{7}, .fragments = {{.level1_id = Level1Id{1}}}}, clock.now()));
    EXPECT_FALSE(seen(0, {}));
    EXPECT_EQ(taken(), Ids{});
}

TEST_F(First, IdsWrap) {
    FirstTriggers over(source, Level1Id{0xffff'fffe}, {}, clock);
    over.start_run(clock.now());
    wire::FragmentSeen message{.first = 0, .source = source};
    for (const auto id : {0xffff'ffffU, 0xffff'fffeU, 1U, 0U}) message.fragments.push_back({.level1_id = Level1Id{id}});
    ASSERT_TRUE(over.seen(message, clock.now()));
    over.collect(clock.now(), 10);
    for (const auto id : {0xffff'fffeU, 0xffff'ffffU, 0U, 1U})
        EXPECT_EQ(over.take(clock.now()).level1_id, Level1Id{id});
}

}  // namespace
}  // namespace weir::selection
