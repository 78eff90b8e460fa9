// SPDX-License-Identifier: Apache-2.0
// A run control that dies, and one that goes on with what it left.
#include "run_control_fixture.hpp"
#include "weir/control/run_metrics.hpp"

namespace weir::control {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TakeOverTest : public RunControlTest {
protected:
    void run_control_dies() {
        world.run_control_dies = true;
        control.reset();
        world.run_control_dies = false;
        world.left = true;
        world.calls.clear();
        make_control();
    }
    void take_over() {
        ASSERT_TRUE(control->take_over());
        pass(300ms);
    }
};

TEST_F(TakeOverTest, TheRunGoesOnWithItsNumberCommentAndParameters) {
    const auto run = start_run();
    pass(5s);
    run_control_dies();
    clock.advance(60s);
    take_over();
    const auto view = control->view();
    EXPECT_EQ(view.state, PartitionState::running);
    EXPECT_EQ(view.run, run);
    EXPECT_EQ(view.comment, "a comment");
    EXPECT_GT(view.seconds, 60);
    EXPECT_THAT(world.calls, IsEmpty()) << "no station hears of it";
    EXPECT_THAT(reported, Contains(HasSubstr("9 of its 9 stations are there")));
    EXPECT_EQ(world.changes.parameters.at("beam"), "on");
    ASSERT_TRUE(control->stop("enough"));
    pass(2s);
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_EQ(control->view().last->run, run);
    EXPECT_THAT(world.kept, Contains("1 stop reason=enough"));
    EXPECT_FALSE(world.open);
    EXPECT_EQ(number(*control->start({})), 2U);
}

TEST_F(TakeOverTest, AStationThatDiedInTheMeantimeIsStartedAgainInThatRun) {
    const auto run = start_run();
    run_control_dies();
    world.kill("sfi-1");
    take_over();
    pass(300ms);
    EXPECT_THAT(world.calls, Contains("sfi-1 start"));
    EXPECT_EQ(station("sfi-1").started, run);
    EXPECT_TRUE(station("sfi-1").started_again);
    EXPECT_THAT(world.calls, Contains("dfm change_peers"));
    EXPECT_EQ(world.count("sfi-2 launch"), 0U);
    EXPECT_EQ(control->view().state, PartitionState::running);
}

TEST_F(TakeOverTest, WhoIsStartedAgainKnowsAlsoThoseThatAreAway) {
    start_run();
    pass(1s);
    run_control_dies();
    world.kill("sfi-1");
    world.kill("ros-2");
    station("ros-2").hangs_in = "configure";  // it does not come back for now
    take_over();
    pass(300ms);
    std::vector<std::string> known;
    for (const auto& peer : station("sfi-1").peers) known.push_back(peer.name);
    EXPECT_THAT(known, Contains("ros-2"));
    known.clear();
    for (const auto& peer : station("sfi-2").peers) known.push_back(peer.name);
    EXPECT_THAT(known, Contains("ros-2"));
}

TEST_F(TakeOverTest, WhatTheOneBeforeHadCountedOfTheRunIsKnownAndNotCountedAgain) {
    const auto recorded = [](int count) { return fmt::format("\nweir_partition_recorded_events_total {}\n", count); };
    start_run();
    station("rec-1").report.status.counters["events_recorded"] = 1000;
    pass(2s);
    run_control_dies();
    service::Metrics metrics;
    const auto collection = collect_partition(metrics, {*control, reports, {}, true});
    world.kill("rec-1");
    station("rec-1").hangs_in = "start";
    station("ros-1").mute = true;
    EXPECT_THAT(metrics.text(), HasSubstr(recorded(0)));
    take_over();
    ASSERT_EQ(control->view().state, PartitionState::coming_up) << "it is not known yet how ros-1 is";
    EXPECT_EQ(control->view().events.recorded, 1000U);
    EXPECT_THAT(metrics.text(), HasSubstr(recorded(0)));
    station("ros-1").mute = false;
    pass(1s);
    ASSERT_EQ(control->view().state, PartitionState::running);
    EXPECT_EQ(control->view().events.recorded, 1000U) << "although the recorder is not back";
    EXPECT_THAT(metrics.text(), HasSubstr(recorded(0)));
    station("rec-1").report.status.counters["events_recorded"] = 1030;
    station("rec-1").hangs_in.clear();
    pass(1s);
    EXPECT_EQ(control->view().events.recorded, 1030U);
    EXPECT_THAT(metrics.text(), HasSubstr(recorded(30)));
}

TEST_F(TakeOverTest, CountsOfTheRunBeforeAreNoneOfARunThatHadNotBegun) {
    start_run();
    station("l2sv").report.status.ledger.received = 1000;
    pass(1s);
    ASSERT_TRUE(control->stop("enough"));
    pass(5s);
    station("rec-1").hangs_in = "start";
    ASSERT_TRUE(control->start({}));
    pass(300ms);
    run_control_dies();
    station("rec-1").hangs_in.clear();
    take_over();
    pass(60s);
    ASSERT_TRUE(control->view().last);
    EXPECT_EQ(control->view().last->run, RunNumber{2});
    EXPECT_EQ(control->view().last->events.triggers, 0U);
    EXPECT_THAT(problems(), Contains(HasSubstr("when run control came back")));
}

TEST_F(TakeOverTest, AnInterruptBeforeItIsKnownHowTheStationsAreStopsTheRun) {
    start_run();
    run_control_dies();
    station("ef-1").mute = true;
    ASSERT_TRUE(control->take_over());
    pass(1s);
    control->shut_down("interrupted");
    pass(60s);
    ASSERT_TRUE(control->view().last);
    EXPECT_EQ(control->view().last->reason, "interrupted");
    EXPECT_EQ(control->view().state, PartitionState::down);
}

TEST_F(TakeOverTest, WithoutTheDfmTheRunEndsByThatName) {
    start_run();
    run_control_dies();
    world.kill("dfm");
    take_over();
    pass(60s);
    EXPECT_THAT(problems(), Contains(HasSubstr("station dfm was gone when run control came back")));
}

TEST_F(TakeOverTest, AStationThatDoesNotAnswerIsKilledAndStartedAgain) {
    start_run();
    run_control_dies();
    station("ef-1").mute = true;
    ASSERT_TRUE(control->take_over());
    pass(1s);
    EXPECT_EQ(control->view().state, PartitionState::coming_up);
    pass(options.launch_deadline + 1s);
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_EQ(world.count("ef-1 launch"), 1U);
}

TEST_F(TakeOverTest, APausedRunStaysPaused) {
    start_run();
    ASSERT_TRUE(control->pause());
    pass(200ms);
    run_control_dies();
    take_over();
    EXPECT_EQ(control->view().state, PartitionState::paused);
    ASSERT_TRUE(control->resume());
    pass(200ms);
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_EQ(station("l2sv").report.state, service::StationState::running);
}

TEST_F(TakeOverTest, MasksAreThoseOfTheRun) {
    start_run();
    ASSERT_TRUE(control->mask(SourceId{2}, true, "Ann"));
    pass(300ms);
    const auto masks = station("sfi-1").masks;
    ASSERT_EQ(masks.size(), 1U);
    run_control_dies();
    world.kill("sfi-1");
    take_over();
    pass(300ms);
    EXPECT_EQ(station("sfi-1").masks, masks);
    EXPECT_FALSE(control->mask(SourceId{2}, true, "Ben")) << "it is masked already";
}

TEST_F(TakeOverTest, AStopThatWasUnderWayGoesOn) {
    start_run();
    station("dfm").report.status.ledger.in_hand = 3;
    ASSERT_TRUE(control->stop("enough"));
    pass(300ms);
    run_control_dies();
    take_over();
    EXPECT_EQ(control->view().state, PartitionState::stopping);
    station("dfm").report.status.ledger.in_hand = 0;
    pass(5s);
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_EQ(control->view().last->reason, "enough");
}

TEST_F(TakeOverTest, BetweenRunsStationsStayConnected) {
    come_up();
    run_control_dies();
    take_over();
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(world.calls, IsEmpty());
    EXPECT_TRUE(control->start({}));
    pass(300ms);
    EXPECT_EQ(control->view().state, PartitionState::running);
}

TEST_F(TakeOverTest, WithoutAnyStationThePartitionComesUpAnewAndTheRunIsToldOf) {
    start_run();
    run_control_dies();
    world.left = false;
    take_over();
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_EQ(world.count("sfi-1 launch"), 1U);
    EXPECT_THAT(reported, Contains(HasSubstr("run 1 was not stopped")));
}

}  // namespace
}  // namespace weir::control
