// SPDX-License-Identifier: Apache-2.0
#include "weir/building/assigner.hpp"

#include <gtest/gtest.h>

#include "sent_messages.hpp"

namespace weir::building {
namespace {

using namespace std::chrono_literals;
using messaging::PeerChange;
using wire::DataflowType;

constexpr wire::StationId supervisor{1}, sfi1{2}, sfi2{3}, ros{4};

struct AssignerTest : testing::Test {
    SentMessages sent;
    AssignerOptions options{.events_max = 100, .clear_group = 4};
    std::vector<std::string> reports;
    Assigner dfm{options, sent, [this](const Report& report) { reports.push_back(report.what); }};
    SteadyTime now{1h};

    void SetUp() override {
        dfm.set_peers({{.name = "l2sv", .kind = StationKind::supervise, .id = supervisor},
                       {.name = "sfi-1", .kind = StationKind::build, .id = sfi1},
                       {.name = "sfi-2", .kind = StationKind::build, .id = sfi2},
                       {.name = "ros-1", .kind = StationKind::readout, .id = ros}},
                      now);
        dfm.start_run();
    }
    static wire::EventTicket ticket(std::uint32_t id) {
        wire::EventTicket made;
        made.global_id = GlobalEventId{id};
        made.level1_id = Level1Id{id};
        return made;
    }
    void accept(std::uint32_t first, std::uint32_t count, std::vector<Level1Id> rejected = {}) {
        wire::Accept message;
        for (std::uint32_t i = 0; i < count; ++i) message.accepted.push_back(ticket(first + i));
        message.rejected = std::move(rejected);
        give(dfm, supervisor, DataflowType::accept, message, now);
        step();
    }
    void credit(wire::StationId builder, std::uint64_t total, std::vector<std::uint32_t> ended = {},
                wire::EventOutcome outcome = wire::EventOutcome::stored) {
        wire::Built message{.credit = total};
        for (const auto id : ended) message.events.push_back({.global_id = GlobalEventId{id}, .outcome = outcome});
        give(dfm, builder, DataflowType::built, message, now);
        step();
    }
    void step(std::chrono::milliseconds by = 0ms) {
        now += by;
        static_cast<void>(dfm.step(now));
    }
    std::vector<std::uint32_t> assigned_to(wire::StationId builder) {
        std::vector<std::uint32_t> ids;
        for (const auto& [to, message] : sent.take<wire::Assign>(DataflowType::assign)) {
            if (to != builder) continue;
            for (const auto& event : message.events) ids.push_back(number(event.level1_id));
        }
        return ids;
    }
};

TEST_F(AssignerTest, NoEventGoesToABuilderWithoutCredit) {
    accept(1, 10);
    EXPECT_TRUE(sent.take<wire::Assign>(DataflowType::assign).empty());
    credit(sfi1, 3);
    EXPECT_EQ(assigned_to(sfi1), (std::vector<std::uint32_t>{1, 2, 3}));
    credit(sfi1, 3);  // the same total again gives nothing
    EXPECT_TRUE(assigned_to(sfi1).empty());
    EXPECT_EQ(dfm.ledger().in_hand, 10U);
    EXPECT_TRUE(dfm.ledger().balances());
}

TEST_F(AssignerTest, EventsAreSharedByTheBuildersWithCredit) {
    credit(sfi1, 40);
    credit(sfi2, 40);
    accept(1, 80);
    const auto builders = dfm.builders();
    EXPECT_EQ(builders[0].in_hand, 40U);
    EXPECT_EQ(builders[1].in_hand, 40U);
}

TEST_F(AssignerTest, ClearsGoOutInGroupsWithTheOldestEvent) {
    credit(sfi1, 40);
    accept(1, 8, {Level1Id{9}});
    credit(sfi1, 40, {2, 3, 5});
    auto clears = sent.take<wire::Clear>(DataflowType::clear);
    ASSERT_EQ(clears.size(), 1U);  // 9, 2, 3, 5: a group of four
    EXPECT_EQ(clears[0].first, ros);
    EXPECT_EQ(clears[0].second.oldest, Level1Id{1});  // 1 is still being built
    EXPECT_EQ(clears[0].second.events.size(), 4U);
    credit(sfi1, 40, {1});
    EXPECT_TRUE(sent.take<wire::Clear>(DataflowType::clear).empty());
    step(25ms);
    clears = sent.take<wire::Clear>(DataflowType::clear);
    ASSERT_EQ(clears.size(), 1U);
    EXPECT_EQ(clears[0].second.oldest, Level1Id{4});
}

TEST_F(AssignerTest, TheEventsOfABuilderThatDiedGoToAnotherAndAreMarked) {
    credit(sfi1, 5);
    accept(1, 5);
    EXPECT_EQ(assigned_to(sfi1).size(), 5U);
    credit(sfi1, 6, {3});
    credit(sfi2, 40);
    dfm.on_peer(sfi1, PeerChange::restarted, now);
    step();
    const auto again = sent.take<wire::Assign>(DataflowType::assign);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].first, sfi2);
    ASSERT_EQ(again[0].second.events.size(), 4U);
    EXPECT_EQ(again[0].second.events[0].level1_id, Level1Id{1});
    EXPECT_TRUE(again[0].second.events[0].reassigned);
    EXPECT_EQ(dfm.counts().reassigned, 4U);
    credit(sfi2, 44, {1, 2, 4, 5});
    EXPECT_EQ(dfm.counts().stored, 5U);
    EXPECT_TRUE(dfm.ledger().balances());
    EXPECT_EQ(dfm.ledger().in_hand, 0U);
}

TEST_F(AssignerTest, ABuilderThatIsSilentHoldsUpNoOther) {
    credit(sfi1, 40);
    credit(sfi2, 5);
    dfm.on_peer(sfi1, PeerChange::silent, now);
    accept(1, 10);
    for (const auto& builder : dfm.builders()) EXPECT_EQ(builder.in_hand, builder.id == sfi2 ? 5U : 0U);
    credit(sfi1, 40);  // it sends again
    for (const auto& builder : dfm.builders()) EXPECT_EQ(builder.in_hand, 5U);
}

TEST_F(AssignerTest, ABuilderThatHadNothingInHandWhenItWasSilentIsUsedAgainWhenItIsReachable) {
    credit(sfi1, 4);  // it has no reason to send this again
    dfm.on_peer(sfi1, PeerChange::silent, now);
    accept(1, 3);
    EXPECT_EQ(dfm.counts().waiting, 3U);
    dfm.on_peer(sfi1, PeerChange::appeared, now);
    step();
    EXPECT_EQ(dfm.counts().waiting, 0U);
    dfm.on_peer(sfi1, PeerChange::restarted, now);
    dfm.on_peer(sfi1, PeerChange::appeared, now);
    step();
    EXPECT_EQ(dfm.counts().waiting, 3U) << "the new process has given no credit yet";
}

TEST_F(AssignerTest, AReadoutThatIsGoneHoldsUpNoStop) {
    credit(sfi1, 10);
    accept(1, 2);
    credit(sfi1, 12, {1, 2});
    EXPECT_FALSE(dfm.idle());
    dfm.on_peer(ros, PeerChange::silent, now);
    EXPECT_TRUE(dfm.idle());
}

TEST_F(AssignerTest, WhatASlowBuilderEndsAfterItsEventsWereGivenAwayCountsOnce) {
    credit(sfi1, 2);
    accept(1, 2);
    credit(sfi2, 10);
    dfm.on_peer(sfi1, PeerChange::silent, now);
    step();
    credit(sfi1, 4, {1, 2});
    credit(sfi2, 12, {1, 2});
    EXPECT_EQ(dfm.counts().stored, 2U);
    EXPECT_EQ(dfm.counts().repeated, 2U);
    EXPECT_TRUE(dfm.ledger().balances());
}

TEST_F(AssignerTest, AnEventThatNoBuilderEndsFailsAndIsNamed) {
    credit(sfi1, 1);
    accept(1, 1);
    for (int death = 0; death < 5; ++death) {
        dfm.on_peer(sfi1, PeerChange::restarted, now);
        credit(sfi1, 1);
    }
    EXPECT_EQ(dfm.counts().failed, 1U);
    EXPECT_EQ(dfm.ledger().in_hand, 0U);
    ASSERT_FALSE(reports.empty());
    EXPECT_NE(reports.back().find("event 1 was assigned 5 times"), std::string::npos) << reports.back();
}

TEST_F(AssignerTest, ItListsTheEventsThatWereAcceptedRejectedRefusedFailedAndUnfinished) {
    credit(sfi1, 20);
    accept(1, 10);
    credit(sfi1, 20, {1, 2, 3});
    credit(sfi1, 20, {4, 6}, wire::EventOutcome::rejected);
    credit(sfi1, 20, {5}, wire::EventOutcome::failed);
    credit(sfi1, 20, {7}, wire::EventOutcome::refused);
    dfm.reject_unfinished();
    EXPECT_EQ(dfm.events().accepted.text(), "1-10");
    EXPECT_EQ(dfm.events().rejected.text(), "4,6");
    EXPECT_EQ(dfm.events().failed.text(), "5");
    EXPECT_EQ(dfm.events().refused.text(), "7");
    EXPECT_EQ(dfm.events().unfinished.text(), "8-10");
    EXPECT_EQ(dfm.ledger().rejected.at("refused"), 1U);
    EXPECT_TRUE(dfm.ledger().balances());
    dfm.start_run();
    EXPECT_TRUE(dfm.events().accepted.empty());
}

TEST_F(AssignerTest, TheSupervisorsCreditGrowsAsEventsBecomeFinal) {
    step();
    auto credits = sent.take<wire::AcceptCredit>(DataflowType::accept_credit);
    ASSERT_EQ(credits.size(), 1U);
    EXPECT_EQ(credits[0].second.credit, 100U);
    credit(sfi1, 100);
    accept(1, 50);
    std::vector<std::uint32_t> all;
    for (std::uint32_t id = 1; id <= 50; ++id) all.push_back(id);
    credit(sfi1, 150, all);
    credits = sent.take<wire::AcceptCredit>(DataflowType::accept_credit);
    ASSERT_FALSE(credits.empty());
    EXPECT_EQ(credits.back().second.credit, 150U);
}

TEST_F(AssignerTest, AReadoutThatRestartsIsSentTheOldestEventOfTheRun) {
    credit(sfi1, 100);
    accept(1, 6);
    credit(sfi1, 100, {1, 2, 3, 4, 5, 6});
    static_cast<void>(sent.take<wire::Clear>(DataflowType::clear));
    dfm.on_peer(ros, PeerChange::restarted, now);
    step();
    const auto clears = sent.take<wire::Clear>(DataflowType::clear);
    ASSERT_EQ(clears.size(), 1U);
    EXPECT_EQ(clears[0].second.oldest, Level1Id{7});
}

TEST_F(AssignerTest, TheLevel1CounterMayWrap) {
    SentMessages box;
    Assigner wrapping({.events_max = 100, .clear_group = 4, .first_level1 = Level1Id{0xffff'fffe}}, box);
    wrapping.set_peers({{.name = "sfi-1", .kind = StationKind::build, .id = sfi1},
                        {.name = "l2sv", .kind = StationKind::supervise, .id = supervisor},
                        {.name = "ros-1", .kind = StationKind::readout, .id = ros}},
                       now);
    wrapping.start_run();
    wire::Accept message;
    for (const std::uint32_t id : {0xffff'fffeU, 0xffff'ffffU, 0U, 1U}) message.rejected.push_back(Level1Id{id});
    give(wrapping, supervisor, DataflowType::accept, message, now);
    static_cast<void>(wrapping.step(now));
    const auto clears = box.take<wire::Clear>(DataflowType::clear);
    ASSERT_EQ(clears.size(), 1U);
    EXPECT_EQ(clears[0].second.oldest, Level1Id{2});
}

TEST_F(AssignerTest, MessagesThatAreNotTakenAreSentLater) {
    sent.full = true;
    credit(sfi1, 10);
    accept(1, 4);
    EXPECT_TRUE(sent.all.empty());
    sent.full = false;
    step(30ms);
    EXPECT_EQ(assigned_to(sfi1).size(), 4U);
}

}  // namespace
}  // namespace weir::building
