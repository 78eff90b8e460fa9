// SPDX-License-Identifier: Apache-2.0
// A run that stops: what is waited for, how long, and how recorders that die then still close their files.
#include "run_control_fixture.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

service::EventIds ids(std::string_view set) { return service::EventIds::parse(set).value(); }

TEST_F(RunControlTest, AStopEndsWithinItsDeadlineAlthoughStationsHang) {
    start_run();
    for (auto& [name, fake] : world.stations) fake.hangs_in = "stop";
    station("sfi-1").deaf_to_sigterm = true;
    ASSERT_TRUE(control->stop("enough"));
    pass(options.stop_deadline);
    EXPECT_NE(control->view().state, PartitionState::stopping);
    EXPECT_THAT(problems(), Contains(HasSubstr("sfi-1 did not answer stop in time")));
    EXPECT_THAT(problems(), Contains(HasSubstr("rec-1 did not answer stop in time")));
}

TEST_F(RunControlTest, ARunThatEndsByItselfWaitsUntilEveryAcceptedEventIsFinalHoweverLongThatTakes) {
    start_run();
    station("l2sv").report.status.ledger = {"events", 10, 10, {}, 0};
    station("l2sv").report.status.finished = true;
    station("dfm").report.status.ledger = {"events", 10, 4, {}, 6};
    pass(3 * options.stop_deadline);
    EXPECT_EQ(control->view().state, PartitionState::stopping);
    EXPECT_EQ(world.count("dfm stop"), 0U);
    station("dfm").report.status.ledger = {"events", 10, 10, {}, 0};
    station("sfi-1").report.status.ledger = {"events", 10, 10, {}, 0};
    station("rec-1").report.status.ledger = {"copies", 10, 10, {}, 0};
    pass(1s);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(RunControlTest, ADrainWithoutProgressIsAnAlarmAndAStopGivesItADeadline) {
    start_run();
    station("l2sv").report.status.finished = true;
    station("dfm").report.status.ledger = {"events", 10, 4, {}, 6};
    pass(65s);
    EXPECT_THAT(reported, Contains(HasSubstr("has waited 1min for 6 accepted events")));
    ASSERT_TRUE(control->stop("enough"));
    EXPECT_FALSE(control->stop("more than enough"));
    pass(options.stop_deadline);
    EXPECT_EQ(control->view().state, PartitionState::ready);
}

TEST_F(RunControlTest, AnOperatorsStopWaitsForAcceptedEventsWithinItsDeadline) {
    start_run();
    station("dfm").report.status.ledger = {"events", 10, 4, {}, 6};
    ASSERT_TRUE(control->stop("enough"));
    pass(options.stop_deadline / 2);
    EXPECT_EQ(world.count("l2sv pause"), 1U);
    EXPECT_EQ(world.count("dfm stop"), 0U);
    pass(options.stop_deadline / 2);
    EXPECT_EQ(control->view().state, PartitionState::ready);
}

TEST_F(RunControlTest, TheOnlyBuilderThatDiesDuringAStopIsReplacedAndTheDfmGivesItsEventsToTheNewOne) {
    start_run();
    station("dfm").report.status.ledger = {"events", 10, 4, {}, 6};
    station("l2sv").report.status.ledger = {"events", 10, 10, {}, 0};
    ASSERT_TRUE(control->stop("enough"));
    pass(100ms);
    world.kill("sfi-1");
    pass(500ms);
    EXPECT_EQ(station("sfi-1").report.state, service::StationState::running);
    EXPECT_THAT(station("dfm").peers, Contains(station("sfi-1").as_peer()));
    station("dfm").report.status.ledger = {"events", 10, 10, {}, 0};
    station("sfi-2").report.status.ledger = {"events", 10, 10, {}, 0};
    station("rec-1").report.status.ledger = {"copies", 10, 10, {}, 0};
    pass(800ms);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(RunControlTest, BuildersBringAwayWhatTheyHaveWhenTheDfmDiesInTheDrainAndTheirFilterWithIt) {
    start_run();
    station("l2sv").report.status.finished = true;
    station("dfm").report.status.ledger = {"events", 10, 4, {}, 6};
    station("sfi-1").report.status.ledger = {"events", 10, 9, {}, 1};
    pass(500ms);
    world.kill("dfm");
    world.kill("ef-1");
    pass(1s);
    EXPECT_EQ(station("ef-1").processes, 2);
    EXPECT_THAT(station("sfi-1").peers, Contains(station("ef-1").as_peer()));
    EXPECT_EQ(world.count("sfi-1 stop"), 0U);
    station("sfi-1").report.status.ledger = {"events", 10, 10, {}, 0};
    pass(1s);
    EXPECT_EQ(world.count("sfi-1 stop"), 1U);
    EXPECT_EQ(control->view().state, PartitionState::ready);
}

TEST_F(RunControlTest, WithoutADfmADrainHasADeadline) {
    start_run();
    station("sfi-1").report.status.ledger = {"events", 10, 9, {}, 1};
    world.kill("dfm");
    pass(options.stop_deadline / 2);
    EXPECT_EQ(world.count("sfi-1 stop"), 0U);
    pass(options.stop_deadline / 2 + 1s);
    EXPECT_EQ(world.count("sfi-1 stop"), 1U);
    EXPECT_EQ(control->view().state, PartitionState::ready);
}

TEST_F(RunControlTest, ARecorderThatDoesNotAnswerAtItsStopIsStartedAgainAlsoWhenTheDfmHasDied) {
    start_run();
    const auto processes = station("rec-1").processes;
    station("rec-1").hangs_in = "stop";
    world.kill("dfm");
    for (int i = 0; i < 2000 && station("rec-1").processes == processes; ++i) pass(100ms);
    EXPECT_EQ(station("rec-1").processes, processes + 1);
    station("rec-1").hangs_in.clear();
    pass(5s);
    EXPECT_EQ(control->view().state, PartitionState::ready);
}

TEST_F(RunControlTest, ADfmThatIsSilentForHalfAMinuteWhileItDrainsIsWaitedFor) {
    start_run();
    station("l2sv").report.status.finished = true;
    station("l2sv").report.status.ledger = {"events", 10, 10, {}, 0};
    station("dfm").report.status.ledger = {"events", 10, 4, {}, 6};
    pass(500ms);
    station("dfm").mute = true;
    pass(30s);
    EXPECT_EQ(station("dfm").processes, 1);
    station("dfm").mute = false;
    station("dfm").report.status.ledger = {"events", 10, 10, {}, 0};
    station("sfi-1").report.status.ledger = {"events", 10, 10, {}, 0};
    station("rec-1").report.status.ledger = {"copies", 10, 10, {}, 0};
    pass(1s);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(RunControlTest, ADfmThatStandsStillWhenAllEventsAreDoneIsWaitedForAndTheOthersHaveTheirTimeAllTheSame) {
    start_run();
    station("l2sv").report.status.finished = true;  // it ends by itself
    station("dfm").hangs_in = "stop";
    pass(options.stop_deadline + 5s);
    EXPECT_EQ(world.count("sfi-1 stop"), 0U);
    station("dfm").hangs_in.clear();
    station("sfi-1").hangs_in = "stop";
    pass(options.stop_deadline / 10);
    EXPECT_EQ(control->view().state, PartitionState::stopping);
    station("sfi-1").hangs_in.clear();
    pass(1s);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(RunControlTest, ADfmThatNeverStopsIsEndedAlsoWhereTheRunEndedByItself) {
    start_run();
    station("l2sv").report.status.finished = true;
    station("dfm").hangs_in = "stop";
    pass(options.stop_deadline);
    EXPECT_EQ(control->view().state, PartitionState::stopping);
    pass(options.silent_after_single + 2s);
    EXPECT_THAT(problems(), Contains("dfm did not answer stop in time and is ended"));
    EXPECT_NE(control->view().state, PartitionState::stopping);
}

TEST_F(RunControlTest, AnOperatorWhoStopsARunThatStopsAlreadyDoesNotWaitForADfmThatStandsStill) {
    start_run();
    station("l2sv").report.status.finished = true;
    station("dfm").hangs_in = "stop";
    pass(options.stop_deadline - 2s);
    ASSERT_TRUE(control->stop("enough"));
    pass(options.stop_deadline / 5);
    EXPECT_THAT(problems(), testing::ElementsAre("dfm did not answer stop in time and is ended"));
    EXPECT_EQ(world.count("sfi-1 stop"), 1U);
    EXPECT_EQ(world.count("rec-1 stop"), 1U);
    EXPECT_NE(control->view().state, PartitionState::stopping);
}

TEST_F(RunControlTest, AnOperatorWhoStopsARunThatStopsAlreadyBoundsAlsoWhatWasPutOff) {
    start_run();
    station("rec-1").hangs_in = "stop";
    station("l2sv").report.status.finished = true;
    pass(500ms);
    world.kill("rec-1");  // its successor has a whole stop_deadline
    pass(1s);
    ASSERT_TRUE(control->stop("enough"));
    pass(options.stop_deadline + 2s);
    EXPECT_NE(control->view().state, PartitionState::stopping);
}

TEST_F(RunControlTest, ASupervisorWithoutADfmIsNotWaitedForForLong) {
    start_run();
    station("l2sv").hangs_in = "stop";
    world.kill("dfm");
    pass(options.stop_deadline + 2s);
    EXPECT_THAT(problems(), Contains("l2sv did not answer stop in time and is ended"));
    EXPECT_NE(control->view().state, PartitionState::stopping);
}

TEST_F(RunControlTest, ARecorderThatDiesWhileItStopsIsStartedAgainToCloseItsFiles) {
    const auto run = start_run();
    station("rec-1").hangs_in = "stop";
    ASSERT_TRUE(control->stop("enough"));
    pass(300ms);
    station("rec-1").started.reset();
    station("rec-1").hangs_in.clear();
    world.kill("rec-1");
    pass(500ms);
    EXPECT_EQ(station("rec-1").started, run);
    EXPECT_EQ(station("rec-1").report.state, service::StationState::connected);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(RunControlTest, ARecorderThatDiesAfterItHasStoppedIsStartedAgainToReportWhichEventsItHolds) {
    const auto run = start_run();
    station("l2sv").events = {{"accepted", ids("1-3")}};
    station("dfm").events = {{"accepted", ids("1-3")}};
    station("rec-1").events = {{"recorded", ids("1-3")}};
    station("rec-1").mute_events = true;
    ASSERT_TRUE(control->stop("enough"));
    pass(1s);
    ASSERT_EQ(control->view().state, PartitionState::stopping) << "which events it holds is not known yet";
    station("rec-1").started.reset();
    station("rec-1").mute_events = false;
    world.kill("rec-1");
    pass(1s);
    EXPECT_EQ(station("rec-1").started, run);
    EXPECT_TRUE(station("rec-1").started_again);
    EXPECT_EQ(station("rec-1").report.state, service::StationState::connected);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    ASSERT_TRUE(control->view().last->account);
    EXPECT_EQ(control->view().last->account->recorded, 3U);
}

TEST_F(RunControlTest, ARecorderThatDoesNotAnswerAtItsStopIsKilledAndAnotherProcessClosesItsFiles) {
    const auto run = start_run();
    station("rec-1").hangs_in = "stop";
    station("l2sv").report.status.finished = true;  // it ends by itself
    pass(500ms);
    const auto processes = station("rec-1").processes;
    for (int i = 0; i < 600 && station("rec-1").processes == processes; ++i) {
        station("rec-1").started.reset();
        pass(100ms);
    }
    station("rec-1").hangs_in.clear();
    pass(1s);
    EXPECT_EQ(station("rec-1").processes, processes + 1);
    EXPECT_EQ(station("rec-1").started, run);
    EXPECT_EQ(station("rec-1").report.state, service::StationState::connected);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(problems(), testing::ElementsAre("rec-1 did not answer stop in time and is killed"));
}

TEST_F(RunControlTest, ASupervisorThatReceivedAResumeTooLateIsKnownToRunAndPausesAtTheStop) {
    start_run();
    ASSERT_TRUE(control->pause());
    pass(1s);
    station("l2sv").hangs_in = "resume";
    ASSERT_TRUE(control->resume());
    pass(options.pause_deadline + 1s);
    station("l2sv").hangs_in.clear();
    station("l2sv").report.state = service::StationState::running;  // now it has received it
    pass(1s);
    ASSERT_TRUE(control->stop("enough"));
    pass(1s);
    EXPECT_EQ(world.count("l2sv pause"), 2U);
}

TEST_F(RunControlTest, ARecorderThatDoesNotAnswerAtItsStopTwiceIsEnded) {
    start_run();
    station("rec-1").hangs_in = "stop";
    station("l2sv").report.status.finished = true;  // it ends by itself
    pass(1s);
    for (int i = 0; i < 2000 && control->view().state == PartitionState::stopping; ++i) pass(100ms);
    EXPECT_THAT(control->view().state, testing::Ne(PartitionState::stopping));
    EXPECT_THAT(problems(), Contains("rec-1 did not answer stop in time and is killed"));
    EXPECT_THAT(problems(), Contains(HasSubstr("rec-1 did not answer stop in time and is ended")));
}

TEST_F(RunControlTest, TheOldCountsOfADfmThatDoesNotStopAreNotHeldAgainstTheSupervisor) {
    start_run();
    station("l2sv").report.status.ledger = {"events", 20, 20, {}, 0};
    station("dfm").report.status.ledger = {"events", 15, 10, {}, 5};
    station("dfm").hangs_in = "stop";
    station("dfm").deaf_to_sigterm = true;  // it stands still
    ASSERT_TRUE(control->stop("enough"));
    pass(options.stop_deadline + 2s);
    EXPECT_THAT(problems(), Contains("dfm did not answer stop in time and is ended"));
    EXPECT_THAT(problems(), testing::Not(Contains(HasSubstr("the DFM received"))));
}

}  // namespace
}  // namespace weir::control
