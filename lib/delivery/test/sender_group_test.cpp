// SPDX-License-Identifier: Apache-2.0
// Both rules against real receivers. The time of look_after() is the test's.
#include "weir/delivery/sender_group.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <random>

#include "end_to_end.hpp"
#include "receiving/in_flight_events.hpp"
#include "weir/base/testing/number_in_environment.hpp"
#include "weir/transport/reserved_port.hpp"
#include "weir/wire/recorder_choice.hpp"

namespace weir::delivery::test {
namespace {

struct SenderGroupTest : ::testing::Test {
    struct Event {
        std::uint64_t id;
        std::string bytes;
    };

    SenderGroup& open(SenderGroupOptions options = {}) {
        options.sender.name = "sender-1";
        options.sender.run = run;
        options.sender.backoff_first = 2ms;
        options.sender.backoff_last = 20ms;
        return group.emplace(
            options,
            [this](const std::shared_ptr<const void>& owner, std::optional<wire::RejectReason> rejected) {
                const std::scoped_lock lock(mutex);
                finals[static_cast<const Event*>(owner.get())->id].push_back(rejected);
            },
            [this](const Report& report) {
                const std::scoped_lock lock(mutex);
                reports.push_back(report.what);
            });
    }

    static Peer peer(int number, std::uint16_t port) {
        return {.name = "rec-" + std::to_string(number),
                .kind = StationKind::record,
                .events = "127.0.0.1:" + std::to_string(port)};
    }
    static Peer peer(int number, const Recorder& recorder) { return peer(number, recorder.receiver->port()); }
    static Peer peer(int number, const transport::ReservedPort& port) { return peer(number, port.address().port); }

    /// A receiver at a port that no other program gets when it is gone.
    static std::unique_ptr<Recorder> at(const transport::ReservedPort& port, bool answers = true) {
        const auto lent = port.lend();
        ReceiverOptions options;
        options.listen = port.address();
        auto recorder = std::make_unique<Recorder>(options);
        recorder->sink.answers = answers;
        recorder->start();
        return recorder;
    }
    static transport::ReservedPort reserve() { return transport::ReservedPort::take({"127.0.0.1", 0}).value(); }

    /// By whom it is kept alive.
    static Piece payload(std::uint64_t id, std::size_t size = 20) {
        const auto event = std::make_shared<const Event>(id, std::string(size, 'x'));
        return {as_data(event->bytes), event};
    }
    bool give(std::uint64_t id, std::size_t size = 20) {
        const auto piece = payload(id, size);
        return group->try_send(described(id), std::span(&piece, 1));
    }
    void give_all(std::uint64_t first, std::uint64_t last, std::size_t size = 20) {
        for (auto id = first; id <= last; ++id) ASSERT_TRUE(give(id, size));
    }
    void pass(std::chrono::seconds time) {
        for (auto passed = 0s; passed < time; ++passed) group->look_after(now += 1s);
    }
    bool connected(std::uint64_t receivers) {
        return eventually([&] { return group->stats().connected == receivers; });
    }
    bool all_final(std::size_t events) {
        return eventually([&] {
            const std::scoped_lock lock(mutex);
            return finals.size() == events;
        });
    }
    std::size_t final_events() {
        const std::scoped_lock lock(mutex);
        return finals.size();
    }
    void expect_each_ended_once() {
        const std::scoped_lock lock(mutex);
        for (const auto& [id, ends] : finals) EXPECT_EQ(ends.size(), 1U) << "event " << id;
    }
    void expect_balance() const {
        const auto stats = group->stats();
        EXPECT_EQ(stats.accepted, stats.acknowledged + sum(stats.rejected) + stats.held + stats.released);
    }

    std::mutex mutex;
    std::map<std::uint64_t, std::vector<std::optional<wire::RejectReason>>> finals;
    std::vector<std::string> reports;
    SteadyTime now{1h};
    std::optional<SenderGroup> group;  // the last member: its threads call into the others
};

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

TEST_F(SenderGroupTest, ByEventTheOnesOfAReceiverThatIsAwayWaitForItThoughAnotherIsThere) {
    const auto port = reserve();
    Recorder two;
    two.start();
    open();
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, port), peer(2, two)}));
    give_all(1, 400);
    ASSERT_TRUE(all_final(400 - of_the_first(1, 400)));
    pass(59s);
    EXPECT_EQ(group->stats().held, of_the_first(1, 400));
    const auto one = at(port);
    ASSERT_TRUE(all_final(400));
    EXPECT_EQ(one->sink.metas.size(), of_the_first(1, 400));
    EXPECT_EQ(group->stats().moved, 0U);
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
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_NE(reports[0].find(std::to_string(there.size()) + " of them were sent to it and may be stored there too: " +
                              std::to_string(there.begin()->first)),
              std::string::npos)
        << reports[0];
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
        ASSERT_TRUE(group->set_receivers(had, {peer(1, one)}));
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
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(1, port)}));
    ASSERT_TRUE(connected(1));
    give_all(1, 20);
    ASSERT_TRUE(eventually([&] { return one->sink.holding() == 20; }));
    one.reset();
    ASSERT_TRUE(connected(0));
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(1, port), peer(2, two)}));
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

TEST_F(SenderGroupTest, ASenderThatWasRefusedIsOpenedAgainAfterAWhileAndItsEventsGoWithIt) {
    Recorder recorder;
    recorder.sink.accepted_run = RunNumber{1};
    open();
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, recorder)}));
    give_all(1, 3);
    recorder.start();  // only now is anything answered
    ASSERT_TRUE(eventually([&] {
        group->look_after(now);
        const std::scoped_lock lock(mutex);
        return !reports.empty();
    }));
    EXPECT_NE(reports[0].find("recorder rec-1 refuses: "), std::string::npos) << reports[0];
    EXPECT_NE(reports[0].find("another run is being recorded; its 3 events"), std::string::npos) << reports[0];
    EXPECT_FALSE(give(4)) << "there is no receiver";
    {
        const std::scoped_lock lock(recorder.sink.mutex);
        recorder.sink.accepted_run = run;
    }
    group->look_after(now += 999ms);
    EXPECT_EQ(group->stats().held, 3U);
    group->look_after(now += 1ms);
    ASSERT_TRUE(all_final(3));
    for (const auto& [id, meta] : recorder.sink.metas) EXPECT_FALSE(meta.sent_elsewhere);
    expect_each_ended_once();
    expect_balance();
}

/// While it lives, nothing can be opened: each attempt ends with EMFILE.
class NoMoreDescriptors {
public:
    NoMoreDescriptors() {
        // The undefined-behaviour sanitizer opens a pipe to look at a type that it has not met: it meets this one now.
        EXPECT_NE((Error{Errc::io, EMFILE, ""}.message()), "");
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        auto none = before_;
        none.rlim_cur = 0;
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    }
    NoMoreDescriptors(const NoMoreDescriptors&) = delete;
    NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;
    ~NoMoreDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

private:
    rlimit before_{};
};

TEST_F(SenderGroupTest, ASenderThatCannotBeOpenedAgainIsReportedOnceAndTriedAfterThePause) {
    Recorder one, two;
    one.sink.accepted_run = RunNumber{1};
    two.start();
    open({.move_after = 5s});
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, one), peer(2, two)}));
    ASSERT_TRUE(connected(1));
    one.start();
    ASSERT_TRUE(eventually([&] {
        group->look_after(now);
        const std::scoped_lock lock(mutex);
        return !reports.empty();
    }));
    {
        const NoMoreDescriptors none;
        pass(4s);
        ASSERT_EQ(reports.size(), 2U) << reports.back();
        EXPECT_NE(reports[1].find("a sender to recorder rec-1 cannot be opened: "), std::string::npos) << reports[1];
        EXPECT_NE(reports[1].find("Too many open files; the next attempt is in 1000 ms"), std::string::npos)
            << reports[1];
        pass(2s);
    }
    ASSERT_EQ(reports.size(), 3U);
    EXPECT_NE(reports[2].find("recorder rec-1 is away for 5000 ms"), std::string::npos) << reports[2];
    EXPECT_NE(reports[2].find("Too many open files"), std::string::npos) << reports[2];
    {
        const std::scoped_lock lock(one.sink.mutex);
        one.sink.accepted_run = run;
    }
    pass(1s);
    ASSERT_TRUE(connected(2));
}

TEST_F(SenderGroupTest, WhereSendersAreNotOpenedAgainOneThatIsRefusedEndsEverySend) {
    Recorder recorder;
    recorder.sink.accepted_run = RunNumber{1};
    open({.window = Bytes{20}, .reopen_after = std::nullopt});
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(1, recorder)}));
    ASSERT_TRUE(give(1));
    EXPECT_FALSE(group->settled());
    recorder.start();
    std::atomic<bool> ended{false};
    const std::jthread sending([&] {
        const auto piece = payload(2);
        EXPECT_FALSE(group->send(described(2), std::span(&piece, 1), {}));
        ended = true;
    });
    EXPECT_TRUE(eventually([&] {
        group->look_after(now);
        return ended.load();
    }));
    ASSERT_TRUE(group->failure().has_value());
    EXPECT_NE(group->failure()->message().find("another run is being recorded"), std::string::npos);
    EXPECT_TRUE(group->settled()) << "no answer can come";
    EXPECT_EQ(group->stats().held, 1U);
}

TEST_F(SenderGroupTest, AnEventThatNobodyCanBeSentIsFinalAndCostsNoOther) {
    Recorder recorder;
    recorder.start();
    open({.window = 4_MiB});
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, recorder)}));
    ASSERT_TRUE(connected(1));
    ASSERT_TRUE(give(1, 2 << 20));  // it takes 1 MiB
    ASSERT_TRUE(give(2));
    auto event = described(3);
    event.tags[0].type = "no type";
    const auto piece = payload(3);
    ASSERT_TRUE(group->try_send(event, std::span(&piece, 1)));
    ASSERT_TRUE(give(4, 0));
    ASSERT_TRUE(all_final(4));
    EXPECT_EQ(finals[1].at(0), wire::RejectReason::too_large);
    EXPECT_EQ(finals[2].at(0), std::nullopt);
    EXPECT_EQ(finals[3].at(0), wire::RejectReason::bad_tag);
    EXPECT_EQ(finals[4].at(0), wire::RejectReason::malformed_event) << "it has no payload";
    ASSERT_EQ(reports.size(), 3U);
    EXPECT_NE(reports[0].find("event 1 cannot be sent: "), std::string::npos) << reports[0];
    const auto stats = group->stats();
    EXPECT_EQ(stats.accepted, 4U);
    EXPECT_EQ(stats.bytes_accepted, 20U);
    EXPECT_EQ(stats.bytes_held, 0U);
    expect_balance();
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

TEST_F(SenderGroupTest, CloseReleasesWhatIsNotFinalAndEndsWhoWaits) {
    Recorder recorder;
    recorder.sink.answers = false;
    recorder.start();
    open({.window = Bytes{20}});
    ASSERT_TRUE(group->set_receivers(Choice::by_event, {peer(1, recorder)}));
    auto piece = payload(1);
    const std::weak_ptr<const void> watched = piece.owner;
    ASSERT_TRUE(group->try_send(described(1), std::span(&piece, 1)));
    piece = payload(2);
    std::jthread sending([&] { EXPECT_FALSE(group->send(described(2), std::span(&piece, 1), {})); });
    ASSERT_TRUE(eventually([&] { return group->stats().waits > 0; }));
    EXPECT_FALSE(watched.expired());
    group->close();
    sending.join();
    EXPECT_TRUE(watched.expired());
    EXPECT_EQ(final_events(), 0U);
    EXPECT_EQ(group->stats().released, 1U);
    EXPECT_FALSE(give(3));
    expect_balance();
}

/// Receivers come, go, die and change their addresses while threads send. Afterwards each event was final once, and
/// an event that another receiver may have was marked as sent elsewhere.
TEST_F(SenderGroupTest, EachEventIsFinalOnceWhateverHappensToItsReceivers) {
    constexpr std::uint64_t threads = 3;
    constexpr int changes_wanted = 40;
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937 draw(seed);
    for (const auto choice : {Choice::by_event, Choice::least_loaded}) {
        std::array<Recorder, 4> recorders;
        for (auto& recorder : recorders) recorder.start();
        const std::size_t size =
            choice == Choice::by_event ? 20 : 5000;  // where the load decides: of several batches at any moment
        open({.window = Bytes{size * 100}, .move_after = 2s});
        std::atomic<int> changes{0};
        const auto change = [&] {
            ++changes;
            std::vector<Peer> receivers;
            for (int n = 1; n <= 3; ++n) {
                if (draw() % 3 != 0) receivers.push_back(peer(n, recorders[draw() % recorders.size()]));
            }
            EXPECT_TRUE(group->set_receivers(choice, receivers));
        };
        std::atomic<std::uint64_t> next{0}, ended{0};
        std::vector<std::jthread> sending;
        for (std::uint64_t thread = 0; thread < threads; ++thread)
            sending.emplace_back([&] {
                while (changes < changes_wanted) {
                    const auto id = ++next;
                    const auto piece = payload(id, size);
                    EXPECT_TRUE(group->send(described(id), std::span(&piece, 1), {}));
                }
                ++ended;
            });
        while (ended < threads) {
            change();
            for (auto& recorder : recorders) {
                const std::scoped_lock lock(recorder.sink.mutex);
                recorder.sink.answers = draw() % 3 != 0;
            }
            group->look_after(now += 1s);
            std::this_thread::sleep_for(1ms);
        }
        for (auto& recorder : recorders) {
            {
                const std::scoped_lock lock(recorder.sink.mutex);
                recorder.sink.answers = true;
            }
            recorder.sink.acknowledge_held();
        }
        ASSERT_TRUE(group->set_receivers(choice, {peer(1, recorders[0]), peer(2, recorders[1])}));
        ASSERT_TRUE(eventually([&] {
            group->look_after(now += 1s);
            return group->settled();
        }));
        const auto events = next.load();
        EXPECT_EQ(final_events(), events);
        expect_each_ended_once();
        EXPECT_GT(group->stats().moved, 0U);
        for (std::uint64_t id = 1; id <= events; ++id) {
            int unmarked = 0, held = 0;
            for (auto& recorder : recorders) {  // one that is no receiver any more may still read what was sent to it
                const std::scoped_lock lock(recorder.sink.mutex);
                const auto found = recorder.sink.metas.find(id);
                if (found == recorder.sink.metas.end()) continue;
                ++held;
                unmarked += found->second.sent_elsewhere ? 0 : 1;
            }
            EXPECT_GE(held, 1) << "event " << id;
            EXPECT_LE(unmarked, 1) << "event " << id;
        }
        expect_balance();
        group.reset();
        finals.clear();
    }
}

}  // namespace
}  // namespace weir::delivery::test
