// SPDX-License-Identifier: Apache-2.0
// Triggers of a real sender over real sockets, as the supervisor takes them in.
#include "triggers/outside/trigger_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include "triggers/trigger_time.hpp"
#include "weir/base/testing/eventually.hpp"
#include "weir/delivery/block_sender.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using weir::testing::eventually;

class Triggers : public ::testing::Test {
protected:
    Triggers()
        : server(TriggerServer::open({.name = "l2sv"}, Level1Id{1}, Reporter([this](Report report) {
                                         const std::scoped_lock lock(mutex);
                                         if (!report.alarm.empty()) ++alarms[report.alarm];
                                     }),
                                     clock)
                     .value()) {
        begin_run(RunNumber{9});
    }
    ~Triggers() override { server->end_run(); }

    void begin_run(RunNumber run) {
        server->triggers().start_run(clock.now());
        server->start_run(run, [this] { ++wakes; });
    }
    std::unique_ptr<delivery::TriggerSender> unit(const std::string& name = "unit",
                                                  std::size_t block_size = 64 * 1024) {
        delivery::BlockSenderOptions options;
        options.sender.host = "127.0.0.1:" + std::to_string(server->port());
        options.sender.name = name;
        options.sender.backoff_first = 5ms;
        options.sender.window = Bytes{64 << 10};
        options.block_size_max = block_size;
        options.on_ended = [this](const delivery::RecordsEnded& ended) {
            const std::scoped_lock lock(mutex);
            for (auto number = ended.first; number <= ended.last; ++number)
                fates[number] = ended.refused ? std::string(wire::name(*ended.refused)) : "taken";
        };
        return delivery::TriggerSender::open(std::move(options)).value();
    }
    static wire::InputTrigger trigger(std::uint32_t id) {
        return {.level1_id = Level1Id{id}, .time_ns = 1'700'000'000'000'000'025, .type = 0x84, .words = {id, 7}};
    }
    /// As a supervisor with so much room at each step does, until so many came.
    std::vector<std::uint32_t> take(std::size_t triggers, std::size_t room = 100) {
        EXPECT_TRUE(eventually([&] {
            auto& source = server->triggers();
            source.collect(clock.now(), std::min(room, triggers - taken.size()));
            while (source.due(clock.now())) taken.push_back(number(source.take(clock.now()).level1_id));
            return taken.size() >= triggers;
        }));
        return taken;
    }
    std::map<std::uint64_t, std::string> ended() {
        const std::scoped_lock lock(mutex);
        return fates;
    }

    SystemClock clock;
    std::mutex mutex;
    std::map<std::string, int> alarms;
    std::map<std::uint64_t, std::string> fates;
    std::atomic<int> wakes{0};
    std::vector<std::uint32_t> taken;
    std::unique_ptr<TriggerServer> server;
};

TEST_F(Triggers, ATriggerIsAnsweredWhenItsEventIsMadeAndNotBefore) {
    const auto from = unit();
    for (std::uint32_t id = 1; id <= 5; ++id) ASSERT_TRUE(from->send(trigger(id)).has_value());
    ASSERT_TRUE(eventually([&] { return wakes > 0 && server->stats().waiting == 1; }));
    server->triggers().collect(clock.now(), 0);
    EXPECT_FALSE(server->triggers().due(clock.now()));
    EXPECT_FALSE(from->flush(20ms).value());
    EXPECT_TRUE(ended().empty());
    server->triggers().collect(clock.now(), 1);
    const auto ticket = server->triggers().take(clock.now());
    EXPECT_EQ(ticket.level1_id, Level1Id{1});
    EXPECT_EQ(ticket.trigger_type, 0x84U);
    EXPECT_EQ(time_ns(ticket), 1'700'000'000'000'000'025);
    EXPECT_EQ(ticket.level1_words, (std::vector<std::uint32_t>{1, 7}));
    EXPECT_FALSE(server->triggers().due(clock.now()));
    EXPECT_EQ(take(4), (std::vector<std::uint32_t>{2, 3, 4, 5}));
    ASSERT_TRUE(from->flush(60s).value());
    EXPECT_EQ(ended().size(), 5U);
    const auto counts = server->triggers().counts();
    EXPECT_EQ(counts.received, 5U);
    EXPECT_EQ(counts.taken, 5U);
}

TEST_F(Triggers, NoMoreAreTakenInThanThereIsRoomForAndTheUnitIsBusyMeanwhile) {
    const auto from = unit("unit", 1024);
    std::uint32_t next = 1;
    // Without room the unit's blocks wait, then its credit ends, and it is busy.
    ASSERT_TRUE(eventually([&] {
        while (next <= 100'000) {
            const auto sent = from->try_send(trigger(next));
            if (!sent.has_value() || !*sent) return from->busy();
            ++next;
        }
        return false;
    }));
    EXPECT_LT(next, 100'000U);
    EXPECT_TRUE(ended().empty());
    take(next - 1, 7);
    ASSERT_TRUE(from->flush(60s).value());
    EXPECT_FALSE(from->busy());
    for (std::uint32_t id = 1; id < next; ++id) ASSERT_EQ(taken[id - 1], id);
    EXPECT_TRUE(alarms.empty());
}

TEST_F(Triggers, WhatIsWrongIsRefusedWithItsReasonNamedAndCounted) {
    const auto from = unit();
    for (const auto id : {1U, 2U, 5U, 2U, 4U, 500'000U, 6U}) ASSERT_TRUE(from->send(trigger(id)).has_value());
    EXPECT_EQ(take(4), (std::vector<std::uint32_t>{1, 2, 5, 6}));
    ASSERT_TRUE(from->flush(60s).value());
    EXPECT_EQ(ended(), (std::map<std::uint64_t, std::string>{{1, "taken"},
                                                             {2, "taken"},
                                                             {3, "taken"},
                                                             {4, "duplicate"},
                                                             {5, "out_of_order"},
                                                             {6, "too_far_ahead"},
                                                             {7, "taken"}}));
    const auto counts = server->triggers().counts();
    EXPECT_EQ(counts.received, counts.taken + counts.doubled + counts.out_of_order + counts.too_far_ahead);
    EXPECT_EQ(counts.lost, 1U);
    EXPECT_EQ(server->triggers().faults().at("triggers lost").ranges(9), "3");
    const std::scoped_lock lock(mutex);
    for (const auto* alarm : {"triggers_doubled", "triggers_out_of_order", "triggers_too_far_ahead"})
        EXPECT_EQ(alarms[alarm], 1) << alarm;
    EXPECT_GE(alarms["triggers_lost"], 1);
}

TEST_F(Triggers, AUnitThatDiesAndReturnsGoesOnAndWhatItSendsAgainIsDoubled) {
    {
        const auto from = unit();
        for (std::uint32_t id = 1; id <= 10; ++id) ASSERT_TRUE(from->send(trigger(id)).has_value());
        take(10);
        ASSERT_TRUE(from->flush(60s).value());
    }
    const auto again = unit();
    for (std::uint32_t id = 9; id <= 20; ++id) ASSERT_TRUE(again->send(trigger(id)).has_value());
    take(20);
    ASSERT_TRUE(again->flush(60s).value());
    for (std::uint32_t id = 1; id <= 20; ++id) ASSERT_EQ(taken[id - 1], id);
    EXPECT_EQ(server->triggers().faults().at("triggers doubled").ranges(9), "9-10");
    EXPECT_FALSE(server->triggers().faults().contains("triggers lost"));
}

TEST_F(Triggers, AtTheEndOfARunTriggersWithoutAnEventAreRefusedAndTheNextRunBeginsAnew) {
    {
        const auto from = unit();
        for (std::uint32_t id = 1; id <= 5; ++id) ASSERT_TRUE(from->send(trigger(id)).has_value());
        take(2);
        ASSERT_TRUE(eventually([&] { return server->stats().waiting == 1; }));
        server->end_run();
        ASSERT_TRUE(eventually([&] { return ended().size() == 5; }));
        EXPECT_EQ(ended().at(2), "taken");
        EXPECT_EQ(ended().at(3), "stopping");
        EXPECT_EQ(server->triggers().counts().stopping, 3U);
    }
    taken.clear();
    begin_run(RunNumber{10});
    const auto next = unit();
    ASSERT_TRUE(next->send(trigger(1)).has_value());
    EXPECT_EQ(take(1), (std::vector<std::uint32_t>{1}));
    EXPECT_TRUE(next->flush(60s).value());
    EXPECT_TRUE(server->triggers().faults().empty());
}

}  // namespace
}  // namespace weir::selection
