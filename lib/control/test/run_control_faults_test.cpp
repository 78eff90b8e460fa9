// SPDX-License-Identifier: Apache-2.0
// Stations that die, hang or do not start: who is replaced, and who ends the run.
#include "run_control_fixture.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(RunControlTest, ABuilderThatDiesIsReplacedAndTheOthersGetItsNewAddress) {
    start_run();
    const auto before = station("sfi-2").report.self->dataflow;
    world.kill("sfi-2");
    pass(500ms);
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_EQ(station("sfi-2").report.state, service::StationState::running);
    EXPECT_NE(station("sfi-2").report.self->dataflow, before);
    EXPECT_THAT(station("dfm").peers, Contains(station("sfi-2").as_peer()));
    EXPECT_THAT(station("sfi-2").peers, Contains(station("dfm").as_peer()));
    EXPECT_EQ(reports.latched(), 1U);
    ASSERT_TRUE(control->stop("enough"));
    pass(500ms);
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(RunControlTest, TheOthersKnowAReplacementBeforeItHasConnected) {
    start_run();
    station("sfi-2").hangs_in = "connect";  // it waits until the others answer it
    world.kill("sfi-2");
    pass(500ms);
    EXPECT_THAT(station("ros-1").peers, Contains(station("sfi-2").as_peer()));
    station("sfi-2").hangs_in.clear();
    pass(200ms);
    EXPECT_EQ(station("sfi-2").report.state, service::StationState::running);
}

TEST_F(RunControlTest, ARecorderThatDiesComesBackWithTheSameRun) {
    const auto run = start_run();
    world.kill("rec-1");
    station("rec-1").started.reset();
    pass(500ms);
    EXPECT_EQ(station("rec-1").started, run);
    EXPECT_EQ(control->view().state, PartitionState::running);
}

TEST_F(RunControlTest, TheRunStopsWithAReasonWhenTheSupervisorOrTheDfmDies) {
    for (const auto* name : {"l2sv", "dfm"}) {
        if (control->view().state == PartitionState::down) start_run();
        else {
            ASSERT_TRUE(control->start({}));
            pass(300ms);
        }
        world.kill(name);
        pass(1000ms);
        EXPECT_EQ(control->view().state, PartitionState::ready);
        EXPECT_THAT(control->view().last->reason, HasSubstr(fmt::format("{} was ended by signal 9", name)));
        EXPECT_FALSE(problems().empty());
        EXPECT_TRUE(station(name).alive) << "for the next run";
    }
}

TEST_F(RunControlTest, AStationThatStandsStillForFiveSecondsIsLeftInPeace) {
    start_run();
    station("sfi-1").mute = true;
    pass(5s);
    station("sfi-1").mute = false;
    pass(1s);
    EXPECT_EQ(station("sfi-1").processes, 1);
    EXPECT_EQ(control->view().state, PartitionState::running);
}

TEST_F(RunControlTest, AStationThatAnswersNothingForItsDeadlineIsKilledAndReplaced) {
    start_run();
    station("ros-2").mute = true;
    pass(11s);
    EXPECT_EQ(station("ros-2").processes, 2);
    EXPECT_EQ(station("ros-2").report.state, service::StationState::running);
    EXPECT_THAT(reports.alarms().front().report.what, HasSubstr("ros-2 did not answer for 10s"));
}

TEST_F(RunControlTest, AStationThatDiesAgainAndAgainEndsTheRun) {
    start_run();
    for (int i = 0; i < 6; ++i) {
        world.kill("ef-1");
        pass(500ms);
    }
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(control->view().last->reason, HasSubstr("6 times within 1min"));
}

TEST_F(RunControlTest, TheTimeInWhichRunControlWasStoppedCountsAsNoSilence) {
    start_run();
    for (auto& [name, fake] : world.stations) fake.mute = true;  // their answers have not been read
    pass(1s);
    clock.advance(13min);
    control->step();
    for (auto& [name, fake] : world.stations) fake.mute = false;
    pass(1s);
    EXPECT_EQ(control->view().state, PartitionState::running);
    for (const auto& [name, fake] : world.stations) EXPECT_EQ(fake.processes, 1) << name;
}

TEST_F(RunControlTest, ACallWhoseAnswerWasLostIsLookedUpInTheStationsStatus) {
    start_run();
    station("ros-1").loses_answer_to = "stop";
    station("ros-2").loses_call_of = "stop";
    ASSERT_TRUE(control->stop("enough"));
    pass(2s);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_EQ(world.count("ros-1 stop"), 1U);
    EXPECT_EQ(world.count("ros-2 stop"), 1U);
}

TEST_F(RunControlTest, AFilterWhoseSelectionHangsIsReplacedAfterAWhile) {
    start_run();
    station("ef-1").report.status.counters["hanging_seconds"] = 3600;
    pass(options.hanging_after / 2);
    EXPECT_EQ(station("ef-1").processes, 1);
    pass(options.hanging_after / 2 + 1s);
    EXPECT_EQ(station("ef-1").processes, 2);
    EXPECT_EQ(station("ef-1").report.state, service::StationState::running);
    EXPECT_THAT(reports.alarms().front().report.what, HasSubstr("ef-1 had a selection that hung for 10s"));
}

TEST_F(RunControlTest, AReadoutWhoseFrontEndHangsIsReplacedAfterAWhile) {
    start_run();
    station("ros-1").report.status.counters["hanging_seconds"] = 3600;
    pass(options.hanging_after / 2);
    EXPECT_EQ(station("ros-1").processes, 1);
    pass(options.hanging_after / 2 + 1s);
    EXPECT_EQ(station("ros-1").processes, 2);
    EXPECT_THAT(reports.alarms().front().report.what, HasSubstr("ros-1 had a front-end that hung for 10s"));
}

TEST_F(RunControlTest, AFilterWhoseSelectionsComeBackLateOneAfterTheOtherIsNotReplaced) {
    start_run();
    station("ef-1").report.status.counters["hanging"] = 1;  // always one, and always another
    station("ef-1").report.status.counters["hanging_seconds"] = 0.2;
    pass(3 * options.hanging_after);
    EXPECT_EQ(station("ef-1").processes, 1);
}

TEST_F(RunControlTest, AnOperatorReplacesAStationButNeitherTheDfmNorTheSupervisorOfARun) {
    start_run();
    ASSERT_TRUE(control->replace("ef-1"));
    pass(500ms);
    EXPECT_EQ(station("ef-1").processes, 2);
    EXPECT_EQ(station("ef-1").report.state, service::StationState::running);
    EXPECT_THAT(control->replace("dfm").error().context, HasSubstr("only it knows which events there are"));
    EXPECT_THAT(control->replace("ef-7").error().context, HasSubstr("there is no station \"ef-7\""));
    EXPECT_EQ(reports.latched(), 0U);
}

TEST_F(RunControlTest, ARunCanBeStartedRightAfterTheDfmDied) {
    start_run();
    world.kill("dfm");
    for (int i = 0; i < 500 && control->view().runs == 0; ++i) pass(10ms);
    ASSERT_EQ(control->view().state, PartitionState::ready);
    const auto run = control->start({});
    ASSERT_TRUE(run) << run.error().message();
    pass(1s);
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_EQ(station("dfm").started, *run);
}

TEST_F(RunControlTest, ARecorderThatIsReplacedBeforeItHasStartedTheRunDoesNotGoOnWithOne) {
    come_up();
    world.kill("rec-1");
    ASSERT_TRUE(control->start({}));
    pass(2s);
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_FALSE(station("rec-1").started_again);
}

TEST_F(RunControlTest, ASourceThatTwoReadoutsServeKeepsThePartitionDown) {
    station("ros-2").sources = {SourceId{1}};
    ASSERT_TRUE(control->bring_up());
    pass(200ms);
    EXPECT_EQ(control->view().state, PartitionState::down);
    EXPECT_THAT(*control->view().failure, HasSubstr("source 0x1 is served by ros-1 and by ros-2"));
    for (const auto& [name, fake] : world.stations) EXPECT_FALSE(fake.alive) << name;
}

TEST_F(RunControlTest, AStationThatCannotBeConfiguredKeepsThePartitionDownWithItsReason) {
    station("ef-1").refuses = "configure";
    ASSERT_TRUE(control->bring_up());
    pass(1s);
    EXPECT_EQ(control->view().state, PartitionState::down);
    EXPECT_EQ(*control->view().failure, "filter station ef-1 configure: will not");
}

TEST_F(RunControlTest, AStationThatWillNotStartStopsTheRun) {
    come_up();
    station("dfm").refuses = "start";
    ASSERT_TRUE(control->start({}));
    pass(500ms);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(control->view().last->reason, HasSubstr("dfm start: will not"));
    EXPECT_EQ(world.count("l2sv start"), 0U);
    EXPECT_EQ(world.count("rec-1 stop"), 1U);
}

TEST_F(RunControlTest, AStationThatDiesAfterItsStartIsReplacedAlthoughOthersAreStillStarting) {
    come_up();
    station("l2sv").hangs_in = "start";
    ASSERT_TRUE(control->start({}));
    pass(300ms);
    ASSERT_EQ(control->view().state, PartitionState::starting);
    world.kill("l2pu-1");
    pass(500ms);
    station("l2sv").report.state = service::StationState::running;  // its answer was lost
    station("l2sv").hangs_in.clear();
    pass(options.start_deadline);
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_EQ(station("l2pu-1").report.state, service::StationState::running);
    EXPECT_EQ(station("l2pu-1").processes, 2);
}

TEST_F(RunControlTest, WhatDiesBetweenRunsIsThereForTheNext) {
    come_up();
    world.kill("ros-1");
    pass(500ms);
    EXPECT_EQ(station("ros-1").report.state, service::StationState::connected);
    EXPECT_TRUE(control->start({}));
}

TEST_F(RunControlTest, WhatABuilderCountedBySourceIsNotForgottenWhenItIsReplaced) {
    start_run();
    station("sfi-1").report.status.sources = {{.source = SourceId{1}, .expected = 50, .missing = 5}};
    station("sfi-2").report.status.sources = {{.source = SourceId{1}, .expected = 10, .missing = 1}};
    pass(1s);
    world.kill("sfi-1");
    pass(1s);
    station("sfi-1").report.status.sources = {{.source = SourceId{1}, .expected = 7, .missing = 2}};
    pass(1s);
    EXPECT_EQ(control->view().sources->at(0).counts.expected, 67U);
    EXPECT_EQ(control->view().sources->at(0).counts.missing, 8U);
}

TEST_F(RunControlTest, ATriggerUnitThatGoesAwayInARunIsSaidOnceAndAgainWhenItIsBack) {
    start_run();
    auto& connections = station("l2sv").report.status.counters["input_connections"];
    connections = 0;  // it has not come yet
    pass(1s);
    connections = 1;
    pass(1s);
    EXPECT_THAT(reported, Not(Contains(HasSubstr("brings triggers"))));
    connections = 0;
    pass(4s);
    EXPECT_THAT(reported, Not(Contains(HasSubstr("brings triggers"))));
    pass(4s);
    const auto of_the_unit = [&] {
        return std::ranges::count_if(reported, [](const auto& line) { return line.contains("brings triggers"); });
    };
    EXPECT_EQ(of_the_unit(), 1);
    EXPECT_THAT(reported, Contains(HasSubstr("no program that brings triggers is connected any more")));
    connections = 1;
    pass(1s);
    EXPECT_EQ(of_the_unit(), 2);
    EXPECT_EQ(control->view().state, PartitionState::running);
}

TEST_F(RunControlTest, ATriggerUnitMayGoWhenAllTriggersOfTheRunHaveComeHoweverLongTheirEventsTake) {
    start_run();
    auto& counters = station("l2sv").report.status.counters;
    counters["input_connections"] = 1;
    counters["triggers_complete"] = 0;
    pass(1s);
    counters["input_connections"] = 0;
    counters["triggers_complete"] = 1;
    pass(30s);
    EXPECT_THAT(reported, Not(Contains(HasSubstr("brings triggers"))));
    EXPECT_EQ(control->view().state, PartitionState::running);
}

TEST_F(RunControlTest, ATriggerUnitMayGoWhileItsLastTriggersWaitForRoom) {
    start_run();
    auto& counters = station("l2sv").report.status.counters;
    counters["input_connections"] = 1;
    pass(1s);
    counters["input_connections"] = 0;
    counters["input_blocks_waiting"] = 1;
    pass(30s);
    EXPECT_THAT(reported, Not(Contains(HasSubstr("brings triggers"))));
    counters["input_blocks_waiting"] = 0;
    pass(30s);
    EXPECT_THAT(reported, Contains(HasSubstr("no program that brings triggers is connected any more")));
}

TEST_F(RunControlTest, ATriggerUnitThatComesBackWithTheLastTriggersIsSaidToBeThereAgain) {
    start_run();
    auto& counters = station("l2sv").report.status.counters;
    counters["input_connections"] = 1;
    pass(1s);
    counters["input_connections"] = 0;
    pass(8s);
    counters["input_connections"] = 1;
    counters["triggers_complete"] = 1;
    pass(1s);
    EXPECT_THAT(reported, Contains(HasSubstr("brings triggers is connected again")));
}

TEST_F(RunControlTest, ARunThatCannotBeginAgainYetIsTriedUntilItCan) {
    options.begin_again = true;
    make_control();
    start_run();
    world.kill("l2sv");
    world.no_number = true;
    pass(5s);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_TRUE(control->glance().begins_again);
    world.no_number = false;
    pass(5s);
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_FALSE(control->glance().begins_again);
}

TEST_F(RunControlTest, AfterARunThatLostItsDfmAnotherOneBeginsWhereThePartitionSaysSo) {
    options.begin_again = true;
    make_control();
    const auto run = start_run();
    world.kill("dfm");
    pass(5s);
    const auto view = control->view();
    EXPECT_EQ(view.state, PartitionState::running);
    EXPECT_EQ(number(view.run), number(run) + 1);
    EXPECT_EQ(view.comment, "a comment");
    ASSERT_TRUE(view.last);
    EXPECT_EQ(view.last->run, run);
    EXPECT_THAT(problems(), Contains(HasSubstr("dfm")));
    EXPECT_EQ(view.bad_runs, 1U);
    ASSERT_TRUE(control->stop("enough"));
    pass(5s);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_EQ(control->view().bad_runs, 1U);
}

}  // namespace
}  // namespace weir::control
