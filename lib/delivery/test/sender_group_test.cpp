// SPDX-License-Identifier: Apache-2.0
// To which receiver an event goes, by both rules.
#include "weir/delivery/sender_group.hpp"

#include "receiving/in_flight_events.hpp"
#include "sender_group_fixture.hpp"
#include "weir/wire/recorder_choice.hpp"

namespace weir::delivery::test {
namespace {

constexpr std::size_t more_than_a_batch = 70'000;  // each such event is a choice of its own where the load decides

/// Of two receivers with these names, the first one's share of the ids.
bool of_the_first(std::uint64_t id) {
    return wire::preference(GlobalEventId{id}, "rec-1") > wire::preference(GlobalEventId{id}, "rec-2");
}
std::uint64_t of_the_first(std::uint64_t first, std::uint64_t last) {
    std::uint64_t count = 0;
    for (auto id = first; id <= last; ++id) count += of_the_first(id) ? 1U : 0U;
    return count;
}

TEST(InFlightEvents, EachEndsOnceWhetherItsAnswerComesBeforeOrAfterItWasSent) {
    InFlightEvents events;
    const auto owner = std::make_shared<int>(7);
    for (std::uint64_t round = 0; round < 3; ++round) {
        const Sequence late{2 * round + 1}, early{2 * round + 2};
        EXPECT_FALSE(events.answered(early, wire::RejectReason::late));
        EXPECT_FALSE(events.sent(late, {owner, 10}));
        auto ended = events.sent(early, {owner, 20});
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->event.size, 20U);
        EXPECT_EQ(ended->rejected, wire::RejectReason::late);
        ended = events.answered(late, std::nullopt);
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->event.size, 10U);
        EXPECT_EQ(ended->rejected, std::nullopt);
    }
    EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(SenderGroupTest, ByEventEachGoesToTheReceiverThatItBelongsToWhateverTheirOrder) {
    Recorder one, two;
    one.start();
    two.start();
    for (const bool turned : {false, true}) {
        open();
        const auto first = peer(1, one), second = peer(2, two);
        ASSERT_TRUE(
            group->set_receivers(Choice::by_event, turned ? std::vector{second, first} : std::vector{first, second}));
        give_all(1, 400);
        ASSERT_TRUE(all_final(400));
        EXPECT_EQ(one.sink.metas.size(), of_the_first(1, 400));
        EXPECT_EQ(two.sink.metas.size(), 400 - of_the_first(1, 400));
        for (const auto& [id, meta] : one.sink.metas) EXPECT_TRUE(of_the_first(id));
        expect_balance();
        group.reset();
        finals.clear();
    }
}

TEST_F(SenderGroupTest, ByEventTheOnesOfAReceiverThatIsAwayWaitForItForAWhileThoughAnotherIsThere) {
    const auto port = reserve();
    Recorder two;
    two.start();
    open();
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, port), peer(2, two)}));
    give_all(1, 400);
    ASSERT_TRUE(all_final(400 - of_the_first(1, 400)));
    pass(3s);  // the first call only begins
    EXPECT_EQ(group->stats().held, of_the_first(1, 400));
    const auto one = at(port);
    ASSERT_TRUE(all_final(400));
    EXPECT_EQ(one->sink.metas.size(), of_the_first(1, 400));
    EXPECT_EQ(group->stats().moved, 0U);
}

TEST_F(SenderGroupTest, WhatAReceiverThatIsAwayWasNeverSentGoesToTheOthersAndWhatIsInDoubtWaitsForIt) {
    for (const auto choice : {Choice::by_event, Choice::least_loaded}) {
        const auto port = reserve();
        auto one = at(port, false);
        Recorder two;
        open();
        ASSERT_TRUE(group->set_receivers(choice, {peer(1, port), peer(2, two)}));
        ASSERT_TRUE(connected(1));
        give_all(1, 300);
        const auto sent = choice == Choice::by_event ? of_the_first(1, 300) : 300;
        ASSERT_TRUE(eventually([&] { return one->sink.holding() == sent; }));
        const auto had = one->sink.metas;
        one.reset();
        ASSERT_TRUE(connected(0));
        give_all(301, 600);  // some for the one that is away
        two.start();
        ASSERT_TRUE(connected(1));
        pass(6s);
        give_all(601, 900);
        ASSERT_TRUE(all_final(900 - sent)) << final_events();
        EXPECT_EQ(two.sink.metas.size(), 900 - sent);
        for (const auto& [id, meta] : two.sink.metas) {
            EXPECT_FALSE(had.contains(id)) << id;
            EXPECT_FALSE(meta.sent_elsewhere) << id;
        }
        pass(50s);  // below move_after in all
        EXPECT_EQ(group->stats().held, sent);
        EXPECT_EQ(group->stats().in_doubt, 0U);
        const auto back = at(port);  // a new session to it: all comes again
        ASSERT_TRUE(all_final(900));
        EXPECT_EQ(back->sink.metas.size(), sent);
        for (const auto& [id, meta] : back->sink.metas) EXPECT_TRUE(had.contains(id) && meta.sent_elsewhere) << id;
        ASSERT_TRUE(eventually([&] {
            group->look_after(now += 1s);
            return group->settled();
        }));
        give_all(901, 1200, choice == Choice::least_loaded ? more_than_a_batch : 20);
        ASSERT_TRUE(all_final(1200));
        EXPECT_GT(back->sink.metas.size(), sent) << "it gets events again";
        expect_each_ended_once();
        expect_balance();
        group.reset();
        finals.clear();
    }
}

TEST_F(SenderGroupTest, OnlyTimeInWhichAnotherReceiverIsConnectedMakesOneLost) {
    const auto ports = std::array{reserve(), reserve()};
    open();
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, ports[0]), peer(2, ports[1])}));
    pass(70s);
    const auto back = at(ports[0]);
    ASSERT_TRUE(connected(1));
    pass(59s);
    EXPECT_TRUE(reports.empty()) << reports.front();
    pass(2s);
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_NE(reports[0].find("recorder rec-2 is away for 60000 ms"), std::string::npos) << reports[0];
}

TEST_F(SenderGroupTest, AStandstillOfTheSenderDoesNotMakeAReceiverLost) {
    const auto ports = std::array{reserve(), reserve()};
    const auto there = at(ports[0]);
    open();
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, ports[0]), peer(2, ports[1])}));
    ASSERT_TRUE(connected(1));
    group->look_after(now);
    group->look_after(now += 10min);
    EXPECT_TRUE(reports.empty()) << reports.front();
}

TEST_F(SenderGroupTest, TheEventsOfALostReceiverGoToTheOtherAndThoseThatWereSentAreMarkedAndNamed) {
    const auto port = reserve();
    auto one = at(port, false);
    Recorder two;
    two.start();
    open();
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, port), peer(2, two)}));
    give_all(1, 300);
    ASSERT_TRUE(eventually([&] { return one->sink.holding() == of_the_first(1, 300); }));
    ASSERT_TRUE(all_final(300 - of_the_first(1, 300)));
    const auto there = one->sink.metas;
    one.reset();
    ASSERT_TRUE(connected(1));
    give_all(301, 600);
    pass(62s);
    ASSERT_TRUE(all_final(600));
    EXPECT_EQ(two.sink.metas.size(), 600U);
    for (const auto& [id, meta] : two.sink.metas) EXPECT_EQ(meta.sent_elsewhere, there.contains(id)) << id;
    EXPECT_EQ(group->stats().moved, of_the_first(1, 600));
    EXPECT_EQ(group->stats().in_doubt, of_the_first(1, 300));
    ASSERT_EQ(reports.size(), 2U);
    EXPECT_NE(
        reports[0].find(std::to_string(of_the_first(301, 600)) + " events that were never sent to it go to the others"),
        std::string::npos)
        << reports[0];
    EXPECT_NE(reports[1].find(std::to_string(there.size()) + " of them were sent to it and may be stored there too: " +
                              std::to_string(there.begin()->first)),
              std::string::npos)
        << reports[1];
    expect_each_ended_once();
    const auto back = at(port);  // and has its own events from then on
    ASSERT_TRUE(connected(2));
    pass(1s);
    give_all(601, 900);
    ASSERT_TRUE(all_final(900));
    EXPECT_EQ(back->sink.metas.size(), of_the_first(601, 900));
}

TEST_F(SenderGroupTest, AReceiverThatComesBackAtAnotherAddressGetsItsOwnEvents) {
    Recorder one, two, back;
    one.sink.answers = false;
    for (auto* recorder : {&one, &two, &back}) recorder->start();
    open();
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, one), peer(2, two)}));
    give_all(1, 300);
    ASSERT_TRUE(eventually([&] { return one.sink.holding() == of_the_first(1, 300); }));
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, back), peer(2, two)}));
    ASSERT_TRUE(all_final(300));
    EXPECT_EQ(back.sink.metas.size(), of_the_first(1, 300));
    for (const auto& [id, meta] : back.sink.metas) EXPECT_TRUE(meta.sent_elsewhere);
    EXPECT_EQ(group->stats().moved, 0U);
    EXPECT_TRUE(reports.empty()) << reports.front();
}

TEST_F(SenderGroupTest, AReceiverThatTakesNoMoreHoldsNobodyBackAlsoWhenItHasTheFewestBytes) {
    Recorder one, two;
    one.sink.answers = two.sink.answers = false;
    one.start();
    two.start();
    SenderGroupOptions options;
    options.sender.window_events = 10;
    open(options);
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(1, one), peer(2, two)}));
    ASSERT_TRUE(connected(2));
    std::uint64_t id = 0;
    while (give(++id)) ASSERT_LT(id, 100U);
    EXPECT_EQ(id, 21U) << "both take ten small events";
    ASSERT_TRUE(eventually([&] { return one.sink.holding() + two.sink.holding() == 20; }));
    two.sink.acknowledge_held();
    ASSERT_TRUE(all_final(10));
    for (; id <= 30; ++id) ASSERT_TRUE(give(id, 1000)) << id << ": of the two it has more bytes, and room";
    EXPECT_EQ(one.sink.holding(), 10U);
    ASSERT_TRUE(eventually([&] { return two.sink.holding() == 10; }));
    group->close();
}

TEST_F(SenderGroupTest, WhatItCountedOfConnectionsStaysWhenItIsClosed) {
    const auto port = reserve();
    auto recorder = at(port, false);
    open();
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, port)}));
    give_all(1, 3);
    ASSERT_TRUE(eventually([&] { return recorder->sink.holding() == 3; }));
    recorder.reset();
    recorder = at(port);
    ASSERT_TRUE(all_final(3));
    const auto before = group->stats();
    EXPECT_EQ(before.resent, 3U);
    EXPECT_GE(before.reconnects, 1U);
    group->close();
    EXPECT_EQ(group->stats().resent, before.resent);
    EXPECT_EQ(group->stats().reconnects, before.reconnects);
}

TEST_F(SenderGroupTest, TheEventsOfAReceiverThatLeftGoToTheOthers) {
    for (const auto choice : {Choice::by_event, Choice::least_loaded}) {
        Recorder one, two;
        one.sink.answers = two.sink.answers = false;
        one.start();
        two.start();
        open();
        ASSERT_TRUE(group->set_receivers(choice, {peer(1, one), peer(2, two)}));
        ASSERT_TRUE(connected(2));
        const std::uint64_t events = 20, of_one = choice == Choice::by_event ? of_the_first(1, events) : events / 2;
        give_all(1, events, more_than_a_batch);
        ASSERT_TRUE(eventually([&] { return one.sink.holding() + two.sink.holding() == events; }));
        EXPECT_EQ(one.sink.holding(), of_one);
        ASSERT_GT(of_one, 0U);
        const auto at_two = two.sink.metas;
        {
            const std::scoped_lock lock(two.sink.mutex);
            two.sink.answers = true;
        }
        ASSERT_TRUE(group->set_receivers(choice, {peer(2, two)}));
        two.sink.acknowledge_held();
        ASSERT_TRUE(all_final(events));
        EXPECT_EQ(two.sink.taken(), events);
        for (const auto& [id, meta] : two.sink.metas)
            EXPECT_NE(meta.sent_elsewhere, at_two.contains(id)) << "event " << id;
        EXPECT_EQ(group->stats().moved, of_one);
        ASSERT_EQ(reports.size(), 1U);
        EXPECT_NE(reports[0].find("recorder rec-1 left the partition; its " + std::to_string(of_one) +
                                  " events go to the others"),
                  std::string::npos)
            << reports[0];
        expect_each_ended_once();
        expect_balance();
        group.reset();
        finals.clear();
        reports.clear();
    }
}

TEST_F(SenderGroupTest, WhetherAnEventIsInDoubtGoesByTheRuleByWhichItWasGivenAlsoWhenTheRuleChanges) {
    for (const auto had : {Choice::by_event, Choice::least_loaded}) {
        const auto then = had == Choice::by_event ? Choice::least_loaded : Choice::by_event;
        Recorder one, two;
        one.sink.answers = false;
        one.start();
        two.start();
        open();
        auto first = peer(1, one);
        first.kind = had == Choice::by_event ? StationKind::record : StationKind::filter;
        ASSERT_TRUE(group->set_receivers(had, {first}));
        ASSERT_TRUE(connected(1));
        give_all(1, 10);
        ASSERT_TRUE(eventually([&] { return one.sink.holding() == 10; }));
        ASSERT_TRUE(group->set_receivers(then, {peer(2, two)}));
        ASSERT_TRUE(all_final(10));
        EXPECT_EQ(group->stats().in_doubt, had == Choice::by_event ? 10U : 0U);
        group.reset();
        finals.clear();
    }
}

TEST_F(SenderGroupTest, TheNextEventGoesToTheReceiverWithTheFewestBytes) {
    Recorder one, two;
    one.sink.answers = two.sink.answers = false;
    one.start();
    two.start();
    open();
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(1, one), peer(2, two)}));
    ASSERT_TRUE(connected(2));
    std::uint64_t id = 0;
    for (const std::size_t kb : {900U, 100U, 100U, 80U}) ASSERT_TRUE(give(++id, kb * 1000));  // 900 | 100 200 280
    ASSERT_TRUE(eventually([&] { return one.sink.taken() + two.sink.taken() == 4; }));
    auto& few = one.sink.taken() == 3 ? one : two;
    auto& many = &few == &one ? two : one;
    EXPECT_EQ(few.sink.taken(), 3U);
    few.sink.acknowledge_held();
    ASSERT_TRUE(all_final(3));
    for (int i = 0; i < 5; ++i)
        ASSERT_TRUE(give(++id, 80'000));  // up to 400, or 680 while the last answer is being counted
    ASSERT_TRUE(eventually([&] { return few.sink.taken() == 8; }));
    EXPECT_EQ(many.sink.taken(), 1U);
}

TEST_F(SenderGroupTest, ReceiversWithEquallyMuchToAnswerTakeTurnsWithBatchesOfSmallEvents) {
    Recorder one, two;
    one.start();
    two.start();
    open();
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(1, one), peer(2, two)}));
    ASSERT_TRUE(connected(2));
    std::uint64_t id = 0;
    for (const auto& [size, in_batch] : {std::pair{more_than_a_batch, 1U}, std::pair{std::size_t{8'000}, 8U}}) {
        const auto begin = id;
        for (int i = 0; i < 32; ++i) {
            ASSERT_TRUE(give(++id, size));
            ASSERT_TRUE(eventually([&] { return group->settled(); }));
        }
        const bool one_begins = one.sink.metas.contains(begin + 1);
        for (std::uint64_t i = 0; i < 32; ++i)
            EXPECT_EQ(one.sink.metas.contains(begin + 1 + i), (i / in_batch % 2 == 0) == one_begins)
                << "event " << i << " of " << size << " bytes";
    }
    EXPECT_EQ(one.sink.taken() + two.sink.taken(), id);
}

TEST_F(SenderGroupTest, AReceiverThatIsNotConnectedGetsNothingWhileAnotherIs) {
    const auto port = reserve();
    Recorder there;
    there.sink.answers = false;
    there.start();
    for (const int its_number : {1, 2}) {  // it is the first or the second
        open();
        ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(3 - its_number, port), peer(its_number, there)}));
        ASSERT_TRUE(connected(1));
        const auto before = there.sink.holding();
        give_all(1, 20, more_than_a_batch);  // the other one has fewer bytes from the first on
        EXPECT_TRUE(eventually([&] { return there.sink.holding() == before + 20; }, 10s)) << there.sink.holding();
        group.reset();
    }
}

TEST_F(SenderGroupTest, WhatAReceiverThatCannotBeReachedHasNotAnsweredGoesToTheOthersAfterAWhile) {
    const auto port = reserve();
    auto one = at(port, false);
    Recorder two;
    two.start();
    open();
    auto first = peer(1, port), second = peer(2, two);
    first.kind = second.kind = StationKind::filter;
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {first}));
    ASSERT_TRUE(connected(1));
    give_all(1, 20);
    ASSERT_TRUE(eventually([&] { return one->sink.holding() == 20; }));
    one.reset();
    ASSERT_TRUE(connected(0));
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {first, second}));
    ASSERT_TRUE(connected(1));
    pass(59s);
    EXPECT_EQ(final_events(), 0U);
    pass(3s);
    ASSERT_TRUE(all_final(20));
    for (const auto& [id, meta] : two.sink.metas) EXPECT_TRUE(meta.sent_elsewhere);
    EXPECT_EQ(group->stats().in_doubt, 0U) << "a station that gets them from both finds the duplicates";
    expect_each_ended_once();
}

TEST_F(SenderGroupTest, AllReceiversShareTheWindow) {
    for (const auto choice : {Choice::by_event, Choice::least_loaded}) {
        Recorder one, two;
        one.sink.answers = two.sink.answers = false;
        one.start();
        two.start();
        open({.window = Bytes{1000}});
        ASSERT_TRUE(group->set_receivers(choice, {peer(1, one), peer(2, two)}));
        ASSERT_TRUE(connected(2));
        std::uint64_t id = 0;
        for (; id < 10; ++id) ASSERT_TRUE(give(20 * id, 100));
        EXPECT_FALSE(give(20 * id, 100));
        EXPECT_EQ(group->stats().held, 10U);
        EXPECT_EQ(group->stats().bytes_held, 1000U);
        ASSERT_TRUE(eventually([&] { return one.sink.holding() + two.sink.holding() == 10; }));
        one.sink.acknowledge_held();
        two.sink.acknowledge_held();
        ASSERT_TRUE(all_final(10));
        EXPECT_TRUE(give(20 * id, 5000)) << "one event may always be in flight";
        EXPECT_FALSE(give(20 * id, 1));
        group.reset();
        finals.clear();
    }
}

TEST_F(SenderGroupTest, AnAddressThatCannotBeUsedLeavesAllAsItWas) {
    Recorder recorder;
    recorder.start();
    open();
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, recorder)}));
    auto wrong = peer(2, recorder);
    wrong.events = "nowhere";
    const auto set = group->set_receivers(Choice::by_event, {wrong});
    ASSERT_FALSE(set.has_value());
    EXPECT_NE(set.error().message().find("recorder rec-2: "), std::string::npos) << set.error().message();
    give_all(1, 3);
    ASSERT_TRUE(all_final(3));
}

}  // namespace
}  // namespace weir::delivery::test
