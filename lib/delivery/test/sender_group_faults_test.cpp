// SPDX-License-Identifier: Apache-2.0
// Senders that are refused or cannot be opened, and receivers that come and go while threads send.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <random>

#include "sender_group_fixture.hpp"
#include "weir/base/testing/number_in_environment.hpp"

namespace weir::delivery::test {
namespace {

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

TEST_F(SenderGroupTest, OfSeveralRecordersOneThatRefusesCostsNothingAndAllThatRefuseEndEverySend) {
    Recorder one, two;
    one.sink.accepted_run = RunNumber{1};
    two.sink.answers = false;
    open({.move_after = 0ms, .fail_after = 0ms});
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(1, one)}));
    give_all(1, 3);  // before it can refuse: then a send would end
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(1, one), peer(2, two)}));
    one.start();
    const auto refusal = [this] {
        const std::scoped_lock lock(mutex);
        const auto found = std::ranges::find_if(
            reports, [](const std::string& report) { return report.find("recorder rec-1 refuses: ") != report.npos; });
        return found == reports.end() ? std::string() : *found;
    };
    ASSERT_TRUE(eventually([&] {
        group->look_after(now);
        return !refusal().empty();
    }));
    two.start();
    ASSERT_TRUE(eventually([&] {
        group->look_after(now);
        return two.sink.holding() == 3;
    }));
    EXPECT_NE(refusal().find("its 3 events go to the others"), std::string::npos) << refusal();
    EXPECT_FALSE(group->failure().has_value());
    two.receiver->stop(0ms);
    Recorder again;  // at another port: for the group it is rec-2 that moved
    again.sink.accepted_run = RunNumber{1};
    again.start();
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(1, one), peer(2, again)}));
    ASSERT_TRUE(eventually([&] {
        group->look_after(now += 1s);
        return group->failure().has_value();
    }));
    EXPECT_NE(group->failure()->message().find("another run is being recorded"), std::string::npos);
    EXPECT_TRUE(group->settled());
    EXPECT_EQ(group->stats().held, 3U);
}

TEST_F(SenderGroupTest, WithoutAnyConnectionForFailAfterItFailsAndSaysWhy) {
    const auto ports = std::array{reserve(), reserve()};
    open({.fail_after = 10s});
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {peer(1, ports[0]), peer(2, ports[1])}));
    ASSERT_TRUE(give(1));
    ASSERT_TRUE(eventually([&] { return !group->stats().last_problem.empty(); }));
    pass(10s);
    EXPECT_FALSE(group->failure().has_value());
    pass(2s);
    ASSERT_TRUE(group->failure().has_value());
    EXPECT_NE(group->failure()->message().find("no connection for 10 s to any of 2: cannot connect to"),
              std::string::npos)
        << group->failure()->message();
}

TEST_F(SenderGroupTest, WhatIsInDoubtNeverGoesToAnotherConnectionOfTheSameRecorder) {
    Recorder one, two;
    one.sink.answers = false;
    one.start();
    open();
    const auto first = peer(1, one);
    auto second = first;
    second.name = "rec-1, connection 2";
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {first}));
    ASSERT_TRUE(connected(1));
    give_all(1, 3);
    ASSERT_TRUE(eventually([&] { return one.sink.holding() == 3; }));
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {first, second, peer(2, two)}));
    ASSERT_TRUE(connected(2));
    ASSERT_TRUE(group->set_receivers(Choice::least_loaded, {second, peer(2, two)}));  // another session to one is there
    pass(2s);
    two.start();
    ASSERT_TRUE(connected(2));
    ASSERT_TRUE(eventually([&] {
        group->look_after(now);
        return final_events() == 3;
    }));
    EXPECT_EQ(two.sink.taken(), 3U);
    for (const auto& [id, meta] : two.sink.metas) EXPECT_TRUE(meta.sent_elsewhere);
    EXPECT_EQ(one.sink.taken(), 3U) << "none of them twice";
    expect_each_ended_once();
    expect_balance();
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
