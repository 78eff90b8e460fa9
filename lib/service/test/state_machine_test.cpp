// SPDX-License-Identifier: Apache-2.0
#include "weir/service/state_machine.hpp"

#include <gmock/gmock.h>

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class StateMachineOf : public ::testing::Test {
protected:
    void go(Transition transition) {
        ASSERT_TRUE(machine.begin(transition, now, {}, 10s)) << name(transition);
        machine.end({}, now);
    }
    StateMachine machine{5s};
    SteadyTime now{1h};
};

TEST_F(StateMachineOf, LeadsUpAndDownAgain) {
    for (const auto transition : {Transition::configure, Transition::connect, Transition::start, Transition::pause,
                                  Transition::resume, Transition::stop, Transition::start, Transition::pause,
                                  Transition::stop, Transition::disconnect, Transition::unconfigure})
        go(transition);
    EXPECT_EQ(machine.state(), StationState::initial);
    EXPECT_EQ(machine.history().size(), 11U);
}

TEST_F(StateMachineOf, EveryTransitionFromEveryStateIsAllowedOrRefusedAsTheTableSays) {
    int allowed = 0;
    for (const auto state : station_states) {
        for (const auto transition : transitions) allowed += after(state, transition) ? 1 : 0;
    }
    EXPECT_EQ(allowed, 9);
    const auto refused = machine.begin(Transition::start, now, {}, 10s);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::refused);
    EXPECT_EQ(refused.error().message(), "start is not possible in state initial; possible: configure");
}

TEST_F(StateMachineOf, OneTransitionAtATime) {
    ASSERT_TRUE(machine.begin(Transition::configure, now, {}, 10s));
    const auto second = machine.begin(Transition::configure, now, {}, 10s);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message(), HasSubstr("configure is under way"));
}

TEST_F(StateMachineOf, AWayUpThatFailedChangesNothingAndAWayDownLeadsDown) {
    ASSERT_TRUE(machine.begin(Transition::configure, now, {}, 10s));
    machine.end(fail(Errc::io, "no such file"), now + 1s);
    EXPECT_EQ(machine.state(), StationState::initial);
    EXPECT_EQ(machine.error(), "no such file");
    go(Transition::configure);
    EXPECT_EQ(machine.error(), std::nullopt);
    ASSERT_TRUE(machine.begin(Transition::unconfigure, now, {}, 10s));
    machine.end(fail(Errc::io, "cannot close"), now + 1s);
    EXPECT_EQ(machine.state(), StationState::initial);
    EXPECT_EQ(machine.error(), "cannot close");
    EXPECT_EQ(machine.history().back().took, 1s);
}

TEST_F(StateMachineOf, WhatIsLateIsSaidOnceAndOnlyAWayDownIsHopeless) {
    EXPECT_EQ(machine.next_look(), std::nullopt);
    ASSERT_TRUE(machine.begin(Transition::configure, now, {}, 10s));
    EXPECT_EQ(machine.next_look(), now + 10s);
    EXPECT_EQ(machine.look(now + 9s), Lateness::in_time);
    EXPECT_EQ(machine.look(now + 10s), Lateness::late);
    EXPECT_EQ(machine.look(now + 1h), Lateness::in_time) << "it may take as long as it takes";
    EXPECT_EQ(machine.next_look(), std::nullopt);
    machine.end({}, now);
    ASSERT_TRUE(machine.begin(Transition::unconfigure, now, {}, 10s));
    EXPECT_EQ(machine.look(now + 15s), Lateness::late);
    EXPECT_EQ(machine.next_look(), now + 15s);
    EXPECT_EQ(machine.look(now + 15s), Lateness::hopeless);
    EXPECT_EQ(machine.look(now + 1h), Lateness::in_time);
}

TEST_F(StateMachineOf, PeersChangeOnlyWhenConnected) {
    EXPECT_FALSE(machine.begin_change_peers(now, {}, 1s));
    go(Transition::configure);
    go(Transition::connect);
    ASSERT_TRUE(machine.begin_change_peers(now, {}, 1s));
    machine.end({}, now);
    EXPECT_EQ(machine.state(), StationState::connected);
}

TEST_F(StateMachineOf, HistoryIsBounded) {
    for (int i = 0; i < 200; ++i) {
        go(Transition::configure);
        go(Transition::unconfigure);
    }
    EXPECT_EQ(machine.history().size(), StateMachine::history_max);
}

TEST(StationNames, AreReadBack) {
    for (const auto state : station_states) EXPECT_EQ(parse_station_state(name(state)), state);
    for (const auto transition : transitions) EXPECT_EQ(parse_transition(name(transition)), transition);
    for (const auto kind : station_kinds) EXPECT_EQ(parse_station_kind(name(kind)), kind);
    EXPECT_EQ(parse_transition("explode"), std::nullopt);
    EXPECT_EQ(parse_station_kind("reedout"), std::nullopt);
}

TEST(StationLedger, BalancesWhenNothingIsUncounted) {
    StationLedger ledger{.received = 10, .stored = 6, .rejected = {{"duplicate", 1}}, .in_hand = 3};
    EXPECT_TRUE(ledger.balances());
    ++ledger.received;
    EXPECT_FALSE(ledger.balances());
}

}  // namespace
}  // namespace weir::service
