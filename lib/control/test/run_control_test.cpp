// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_control.hpp"

#include <gmock/gmock.h>
#include <random>

#include "run_control_fixture.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

service::EventIds ids(std::string_view set) { return service::EventIds::parse(set).value(); }

std::shared_ptr<const service::StationEvents> known(const std::map<std::string, std::string>& sets) {
    service::StationEvents events;
    for (const auto& [what, set] : sets) events.emplace(what, ids(set));
    return std::make_shared<const service::StationEvents>(std::move(events));
}

TEST_F(RunControlTest, BringsEveryStationUpAndSendsEachAllPeers) {
    come_up();
    for (const auto& [name, fake] : world.stations) {
        EXPECT_EQ(fake.report.state, service::StationState::connected) << name;
        EXPECT_EQ(fake.peers.size(), partition.stations.size()) << name;
    }
    EXPECT_GT(world.place("ros-1 connect"), world.place("rec-1 configure"));
}

TEST_F(RunControlTest, StartsTakersBeforeGiversAndStopsThemAfter) {
    const auto run = start_run();
    const std::vector<std::string> order{"rec-1", "ef-1", "sfi-1", "ros-1", "dfm", "l2pu-1", "l2sv"};
    for (std::size_t i = 1; i < order.size(); ++i)
        EXPECT_LT(world.place(order[i - 1] + " start"), world.place(order[i] + " start")) << order[i];
    EXPECT_EQ(station("ros-2").started, run);
    ASSERT_TRUE(control->stop("enough"));
    pass(500ms);
    const std::vector<std::string> back{"l2sv", "l2pu-1", "dfm", "sfi-1", "ef-1", "rec-1", "ros-1"};
    for (std::size_t i = 1; i < back.size(); ++i)
        EXPECT_LT(world.place(back[i - 1] + " stop"), world.place(back[i] + " stop")) << back[i];
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_EQ(control->view().last->reason, "enough");
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(RunControlTest, EachRunHasANumberOfItsOwnAndItsParametersAreKept) {
    const auto first = start_run();
    EXPECT_THAT(world.kept, Contains(fmt::format("{} comment=a comment", number(first))));
    EXPECT_THAT(world.kept, Contains(fmt::format("{} beam=on", number(first))));
    ASSERT_TRUE(control->stop("enough"));
    pass(500ms);
    const auto second = control->start({});
    ASSERT_TRUE(second);
    EXPECT_NE(*second, first);
}

TEST_F(RunControlTest, TheViewHasRatesAndRejectionsOfTheRunAtHandAndTheNextBeginsAtZero) {
    start_run();
    auto& ledger = station("rec-1").report.status.ledger;
    for (std::uint64_t i = 1; i <= 500; ++i) {
        ledger = {"copies", 10 * i, 9 * i, {{"late", i}}, 0};
        pass(10ms);
    }
    const auto recorder = [&] {
        const auto view = control->view();
        return *std::ranges::find(view.stations, "rec-1", [](const StationView& shown) { return shown.entry.name; });
    };
    EXPECT_NEAR(recorder().rate, 1000, 100);
    pass(1s);
    EXPECT_EQ(recorder().report.status.ledger.received, 5000U);
    EXPECT_EQ(recorder().report.status.ledger.rejected, (std::map<std::string, std::uint64_t>{{"late", 500}}));
    ASSERT_TRUE(control->stop("enough"));
    pass(2s);
    ASSERT_EQ(control->view().state, PartitionState::ready);
    EXPECT_EQ(recorder().report.status.ledger.received, 5000U) << "of the last run, until the next";
    ASSERT_TRUE(control->start({}));
    EXPECT_EQ(recorder().rate, 0);
    EXPECT_EQ(recorder().report.status.ledger.received, 0U);
    EXPECT_TRUE(recorder().report.status.ledger.rejected.empty());
    pass(300ms);
    ledger = {"copies", 1, 1, {}, 0};
    pass(2s);
    EXPECT_EQ(recorder().report.status.ledger.received, 1U);
}

TEST_F(RunControlTest, WhatMakesNoSenseInAStateIsRefusedWithTheState) {
    EXPECT_THAT(control->start({}).error().context, HasSubstr("is down"));
    start_run();
    EXPECT_THAT(control->start({}).error().context, HasSubstr("is running"));
    EXPECT_FALSE(control->resume());
    ASSERT_TRUE(control->pause());
    pass(50ms);
    EXPECT_EQ(station("l2sv").report.state, service::StationState::paused);
    EXPECT_FALSE(control->pause());
    ASSERT_TRUE(control->resume());
    pass(50ms);
    EXPECT_EQ(station("l2sv").report.state, service::StationState::running);
}

TEST_F(RunControlTest, StopsByItselfWhenTheSupervisorHasNoMoreEvents) {
    start_run();
    station("l2sv").report.status.finished = true;
    pass(800ms);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_EQ(control->view().last->reason, "all events are done");
}

TEST_F(RunControlTest, ABuilderThatDiesIsReplacedAndTheOthersGetItsNewAddress) {
    start_run();
    const auto before = station("sfi-2").report.self->dataflow;
    world.kill("sfi-2");
    pass(500ms);
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_EQ(station("sfi-2").report.state, service::StationState::running);
    EXPECT_NE(station("sfi-2").report.self->dataflow, before);
    EXPECT_THAT(station("dfm").peers, Contains(*station("sfi-2").report.self));
    EXPECT_THAT(station("sfi-2").peers, Contains(*station("dfm").report.self));
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
    EXPECT_THAT(station("ros-1").peers, Contains(*station("sfi-2").report.self));
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
    EXPECT_THAT(station("dfm").peers, Contains(*station("sfi-1").report.self));
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
    EXPECT_THAT(station("sfi-1").peers, Contains(*station("ef-1").report.self));
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

TEST_F(RunControlTest, AResumeRightAfterAPauseComesBehindIt) {
    start_run();
    ASSERT_TRUE(control->pause());
    ASSERT_TRUE(control->resume());
    pass(200ms);
    EXPECT_EQ(world.count("l2sv pause"), 1U);
    EXPECT_GT(world.place("l2sv resume"), world.place("l2sv pause"));
    EXPECT_EQ(station("l2sv").report.state, service::StationState::running);
}

TEST_F(RunControlTest, WhatIsAbandonedHasAResultAllTheSame) {
    start_run();
    for (auto& [name, fake] : world.stations) fake.hangs_in = "stop";
    ASSERT_TRUE(control->stop("interrupted"));
    pass(100ms);
    control->abandon("interrupted twice: the stations were killed");
    EXPECT_EQ(control->view().state, PartitionState::down);
    EXPECT_EQ(control->view().last->reason, "interrupted");
    EXPECT_THAT(problems(), Contains(HasSubstr("interrupted twice")));
    for (const auto& [name, fake] : world.stations) EXPECT_FALSE(fake.alive) << name;
}

TEST_F(RunControlTest, WhatIsLostIsCountedByWhoKnowsAndListedByGlobalId) {
    start_run();
    station("l2sv").report.status.ledger = {"events", 100, 100, {}, 0};
    station("l2sv").events = {{"accepted", ids("1-100")}};
    station("dfm").report.status.ledger = {"events", 100, 70, {{"not selected", 10}, {"given up", 20}}, 0};
    station("dfm").events = {
        {"accepted", ids("1-100")}, {"rejected", ids("11-20")}, {"failed", ids("")}, {"given up", ids("81-100")}};
    station("sfi-1").report.status.ledger = {"events", 100, 90, {{"not selected", 10}}, 0};
    station("rec-1").report.status.ledger = {"copies", 87, 87, {}, 0};
    station("rec-1").events = {{"recorded", ids("1-10,22-97,101")}};
    ASSERT_TRUE(control->stop("enough"));
    pass(1s);
    EXPECT_THAT(problems(), testing::ElementsAre("3 accepted events are in no file: abandoned at the stop: 98-100",
                                                 "1 accepted event is in no file: nobody knows what became of them: 21",
                                                 "1 event is in files and was never accepted: 101"));
    EXPECT_EQ(control->view().last->events.recorded, 87U);
    EXPECT_THAT(world.kept, Contains(HasSubstr("lost: abandoned at the stop=98-100")));
    EXPECT_THAT(reported, Contains("1 event is in files and was never accepted: 101"));
}

TEST_F(RunControlTest, AnAcceptedEventThatARecorderRefusedIsLostForThatReason) {
    start_run();
    station("l2sv").report.status.ledger = {"events", 10, 10, {}, 0};
    station("l2sv").events = {{"accepted", ids("1-10")}};
    station("dfm").report.status.ledger = {"events", 10, 5, {{"not selected", 2}, {"refused", 3}}, 0};
    station("dfm").events = {{"accepted", ids("1-10")},
                             {"rejected", ids("6,7")},
                             {"refused", ids("8-10")},
                             {"failed", ids("")},
                             {"given up", ids("")}};
    station("sfi-1").report.status.ledger = {"events", 10, 5, {{"not_selected", 2}, {"late", 2}, {"too_large", 1}}, 0};
    station("rec-1").report.status.ledger = {"copies", 6, 6, {}, 0};
    station("rec-1").events = {{"recorded", ids("1-5,8")}};  // 8 by another way
    ASSERT_TRUE(control->stop("enough"));
    pass(1s);
    EXPECT_THAT(problems(),
                testing::ElementsAre(
                    "2 accepted events are in no file: refused by a filter or recorder (late, too_large): 9-10"));
    EXPECT_EQ(control->view().last->events.built, 10U);
}

TEST_F(RunControlTest, ARunWhoseRunControlWasKilledGetsItsStopReasonAndCountsAtTheNextStart) {
    start_run();
    station("l2sv").report.status.ledger = {"events", 500, 500, {}, 0};
    pass(3s);
    control.reset();  // as it is killed
    ASSERT_TRUE(world.open);
    control.emplace(
        partition, options, [](const StationEntry& entry) { return LaunchRequest{entry.name, {}, "/nonexistent/log"}; },
        launcher, links, keeper, reports.reporter(), log, clock);
    come_up();
    EXPECT_THAT(world.kept, Contains(HasSubstr("1 stop reason=run control ended without stopping the run")));
    EXPECT_THAT(world.kept, Contains("1 accepted=500"));
    EXPECT_THAT(reported, Contains("run 1 was not stopped: the run control before this one was killed"));
    EXPECT_FALSE(world.open);
}

TEST_F(RunControlTest, ARunLeftOpenThatIsNotKeptStaysNoted) {
    start_run();
    pass(3s);
    control.reset();  // as it is killed
    world.keeping_fails = true;
    control.emplace(
        partition, options, [](const StationEntry& entry) { return LaunchRequest{entry.name, {}, "/nonexistent/log"}; },
        launcher, links, keeper, reports.reporter(), log, clock);
    come_up();
    EXPECT_THAT(reported, Contains(HasSubstr("the end of the run before is not in the catalogue")));
    EXPECT_TRUE(world.open);
}

TEST_F(RunControlTest, ANewRunDoesNotShowTheCountsOfTheOneBefore) {
    start_run();
    station("l2sv").report.status.ledger = {"events", 10, 10, {}, 0};
    station("dfm").report.status.ledger = {"events", 10, 10, {}, 0};
    ASSERT_TRUE(control->stop("enough"));
    pass(1s);
    EXPECT_EQ(control->view().events.triggers, 10U);
    ASSERT_TRUE(control->start({}));
    EXPECT_EQ(control->view().events.triggers, 0U);
    station("l2sv").report.status = {};
    pass(1s);
    station("l2sv").report.status.ledger = {"events", 500, 500, {}, 0};
    pass(1s);
    EXPECT_EQ(control->view().events.triggers, 500U);
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

TEST_F(RunControlTest, ARecorderThatIsReplacedBeforeItHasStartedTheRunDoesNotGoOnWithOne) {
    come_up();
    world.kill("rec-1");
    ASSERT_TRUE(control->start({}));
    pass(2s);
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_FALSE(station("rec-1").started_again);
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

TEST_F(RunControlTest, ALedgerThatDoesNotBalanceIsAProblemWithTheNameOfItsStation) {
    start_run();
    station("sfi-1").report.status.ledger = {"events", 10, 8, {{"incomplete", 1}}, 0};
    station("ros-1").report.status.ledger = {"events", 10, 9, {}, 1};
    ASSERT_TRUE(control->stop("enough"));
    pass(500ms);
    EXPECT_THAT(problems(), Contains(HasSubstr("ledger of sfi-1")));
    EXPECT_THAT(problems(), Contains("ros-1 has 1 events in hand after the stop"));
    EXPECT_THAT(problems(), Not(Contains(HasSubstr("ledger of ros-1"))));
}

TEST_F(RunControlTest, WhatTheSupervisorDecidedTheDfmMustHaveReceived) {
    start_run();
    station("l2sv").report.status.ledger = {"events", 10, 10, {}, 0};
    station("dfm").report.status.ledger = {"events", 9, 9, {}, 0};
    station("sfi-1").report.status.ledger = {"events", 9, 9, {}, 0};
    station("rec-1").report.status.ledger = {"copies", 9, 9, {}, 0};
    ASSERT_TRUE(control->stop("enough"));
    pass(11s);
    EXPECT_THAT(problems(), testing::ElementsAre("the supervisor decided 10 events, and the DFM received 9"));
}

TEST_F(RunControlTest, AnAlarmOfAStationIsReportedOnceAndStandsInTheResult) {
    start_run();
    auto& filter = station("ef-1").report;
    filter.status.counters = {{"threw", 2}, {"timed_out", 1}};
    filter.alarms = {
        {.name = "selection_threw", .text = "warning ef-1: selection threw: cut.py", .severity = "warning"}};
    pass(500ms);
    filter.alarms.front().raised = 2;
    pass(500ms);
    EXPECT_EQ(std::ranges::count(reported, "ef-1: selection threw: cut.py"), 1);
    ASSERT_TRUE(control->stop("enough"));
    pass(500ms);
    const auto last = control->view().last;
    ASSERT_TRUE(last);
    EXPECT_THAT(last->alarms, testing::ElementsAre("ef-1: selection threw: cut.py"));
    EXPECT_EQ(last->selection.forced(), 3U);
    EXPECT_THAT(problems(), IsEmpty());
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

TEST_F(RunControlTest, ShuttingDownARunStopsItFirst) {
    start_run();
    control->shut_down("interrupted");
    pass(1s);
    EXPECT_EQ(control->view().state, PartitionState::down);
    EXPECT_EQ(control->view().last->reason, "interrupted");
    EXPECT_EQ(world.count("rec-1 stop"), 1U);
}

TEST_F(RunControlTest, WhatDiesBetweenRunsIsThereForTheNext) {
    come_up();
    world.kill("ros-1");
    pass(500ms);
    EXPECT_EQ(station("ros-1").report.state, service::StationState::connected);
    EXPECT_TRUE(control->start({}));
}

TEST(RunResult, EventsInTheFilesOfTwoRecordersAreAProblem) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
                       {"rec-1", StationKind::record, {"copies", 6, 6, {}, 0}, {}, known({{"recorded", "1-6"}})},
                       {"rec-2", StationKind::record, {"copies", 5, 5, {}, 0}, {}, known({{"recorded", "5-9"}})}};
    balance(result);
    EXPECT_THAT(result.problems, testing::ElementsAre("2 events are in the files of two recorders: 5-6"));
    EXPECT_EQ(result.events.recorded, 9U);
}

TEST(RunResult, TheLastCountsOfAStationThatIsGoneAreNoProblemWhereTheIdsSayWhatBecameOfItsEvents) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
                       {"dfm", StationKind::assign, {"events", 9, 9, {}, 0}, {}, {}},
                       {"sfi-1", StationKind::build, {"events", 9, 5, {}, 4}, {}, {}, 0, true},
                       {"rec-1", StationKind::record, {"copies", 9, 9, {}, 0}, {}, known({{"recorded", "1-9"}})}};
    balance(result);
    EXPECT_THAT(result.problems, IsEmpty());
}

/// A trigger that rejects half of 500,000 events at random, filters that reject a third of the rest, two recorders: as
/// the stations would report it, with two events lost, one in two files and one that was never accepted.
TEST(RunResult, TheAccountOfARunWithRandomRejectionIsExact) {
    std::mt19937_64 random(11);
    wire::EventIdSet accepted, rejected, first, second;
    std::vector<std::uint64_t> recorded;
    for (std::uint64_t n = 0; n < 500'000; ++n) {
        const GlobalEventId id{n};
        if (random() % 2 == 0) continue;
        accepted.insert(id);
        if (random() % 3 == 0) {
            rejected.insert(id);
        } else {
            recorded.push_back(n);
            (n / 32 % 2 == 0 ? first : second).insert(id);
        }
    }
    const auto lost = recorded[70'000], also_lost = recorded[90'001], twice = recorded[123];
    for (auto* recorder : {&first, &second}) {
        recorder->erase(GlobalEventId{lost});
        recorder->erase(GlobalEventId{also_lost});
        recorder->insert(GlobalEventId{twice});
    }
    first.insert(GlobalEventId{700'000});
    const auto over_the_port = [](const service::StationEvents& events) {
        return std::make_shared<const service::StationEvents>(service::parse_station_events(to_text(events)).value());
    };
    const auto none = service::EventIds{};
    RunResult result;
    const auto count = accepted.count();
    result.stations = {{"l2sv",
                        StationKind::supervise,
                        {"events", 500'000, count, {{"level 2", 500'000 - count}}, 0},
                        {},
                        over_the_port({{"accepted", service::EventIds(accepted)}})},
                       {"dfm",
                        StationKind::assign,
                        {"events", count, count, {}, 0},
                        {},
                        over_the_port({{"accepted", service::EventIds(accepted)},
                                       {"rejected", service::EventIds(rejected)},
                                       {"refused", none},
                                       {"failed", none},
                                       {"given up", none}})},
                       {"rec-1",
                        StationKind::record,
                        {"copies", first.count(), first.count(), {}, 0},
                        {},
                        over_the_port({{"recorded", service::EventIds(first)}})},
                       {"rec-2",
                        StationKind::record,
                        {"copies", second.count(), second.count(), {}, 0},
                        {},
                        over_the_port({{"recorded", service::EventIds(second)}})}};
    balance(result);
    ASSERT_TRUE(result.account);
    const auto& account = *result.account;
    EXPECT_EQ(account.accepted, count);
    EXPECT_EQ(account.rejected, rejected.count());
    EXPECT_EQ(account.recorded, count - rejected.count() - 2 + 1);
    ASSERT_EQ(account.lost.size(), 1U);
    EXPECT_EQ(account.lost[0].events.text(), fmt::format("{},{}", lost, also_lost));
    EXPECT_EQ(account.twice.text(), fmt::to_string(twice));
    EXPECT_EQ(account.unaccepted.text(), "700000");
}

TEST(RunResult, WithoutIdsMoreEventsThanThereWereAreAProblemToo) {
    RunResult result;
    result.stations = {{"dfm",
                        StationKind::assign,
                        {"events", 12, 7, {{"level 2", 1}, {"not selected", 2}, {"given up", 2}}, 0},
                        {},
                        {}},
                       {"rec-1", StationKind::record, {"copies", 6, 6, {}, 0}, {{"events_recorded", 6}}, known({})},
                       {"rec-2", StationKind::record, {"copies", 5, 5, {}, 0}, {{"events_recorded", 5}}, known({})}};
    balance(result);
    EXPECT_FALSE(result.account);
    EXPECT_THAT(result.problems,
                testing::ElementsAre("2 events were lost: given up (dfm)",
                                     HasSubstr("the recorders hold 11: 2 are in the files of two recorders")));
}

TEST(RunResult, TheLastAnswerOfADfmThatIsGoneMayBeOld) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
                       {"dfm",
                        StationKind::assign,
                        {"events", 4, 4, {}, 0},
                        {},
                        known({{"accepted", "1-4"}, {"rejected", "2"}, {"failed", ""}, {"given up", ""}}),
                        0,
                        true},
                       {"rec-1", StationKind::record, {"copies", 6, 6, {}, 0}, {}, known({{"recorded", "1,3-7"}})}};
    balance(result);
    ASSERT_TRUE(result.account);
    ASSERT_EQ(result.account->lost.size(), 1U);
    EXPECT_EQ(result.account->lost[0].cause, "the DFM died; filters may have rejected some of them");
    EXPECT_EQ(result.account->lost[0].events.text(), "2,8-9");
}

TEST(RunResult, AnEventThatOneFilterRejectedAndAnotherOneKeptCountsAsRecordedOnly) {
    RunResult result;
    result.stations = {
        {"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
        {"dfm",
         StationKind::assign,
         {"events", 9, 5, {{"not selected", 4}}, 0},
         {},
         known({{"accepted", "1-9"}, {"rejected", "6-9"}, {"refused", ""}, {"failed", ""}, {"given up", ""}})},
        {"rec-1", StationKind::record, {"copies", 6, 6, {}, 0}, {}, known({{"recorded", "1-6"}})}};
    balance(result);
    ASSERT_TRUE(result.account);
    EXPECT_TRUE(result.account->good());
    EXPECT_EQ(result.account->recorded, 6U);
    EXPECT_EQ(result.account->rejected, 3U) << "6 is in a file";
}

TEST(RunResult, ALineOfManyIdsShowsWhereTheOthersStand) {
    std::string recorded;
    for (int id = 2; id <= 1000; id += 2) recorded += fmt::format("{}{}", recorded.empty() ? "" : ",", id);
    RunResult result;
    result.stations = {
        {"l2sv", StationKind::supervise, {"events", 1000, 1000, {}, 0}, {}, known({{"accepted", "1-1000"}})},
        {"rec-1", StationKind::record, {"copies", 500, 500, {}, 0}, {}, known({{"recorded", recorded}})}};
    balance(result);
    EXPECT_THAT(result.problems,
                Contains(testing::EndsWith(",... (more of them: table run_parameters of the recorders' catalogues)")));
}

TEST(RunResult, ARecorderThatDoesNotKnowIdsLeavesTheCounts) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
                       {"dfm", StationKind::assign, {"events", 9, 9, {}, 0}, {}, {}},
                       {"rec-1", StationKind::record, {"copies", 8, 8, {}, 0}, {}, known({})}};
    balance(result);
    EXPECT_FALSE(result.account);
    EXPECT_THAT(result.problems,
                testing::ElementsAre("the DFM counts 9 events as stored, and the recorders hold 8 copies"));
}

TEST(RunResult, EventsOfAUnitThatDiedCountAsForcedThoughItTookItsCountsAlong) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {{"forced", 7}}, {}},
                       {"l2pu-1", StationKind::select, {"events", 4, 4, {}, 0}, {{"timed_out", 2}}, {}},
                       {"ef-1", StationKind::filter, {"events", 4, 4, {}, 0}, {{"crashed", 1}}, {}}};
    balance(result);
    EXPECT_EQ(result.selection.unjudged, 5U);
    EXPECT_EQ(result.selection.forced(), 8U);
}

TEST(RunResult, WhoTookItsIdsAlongIsNamed) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
                       {"dfm", StationKind::assign, {"events", 9, 9, {}, 0}, {}, {}, 0, true},
                       {"rec-1", StationKind::record, {"copies", 9, 9, {}, 0}, {}, {}, 0, true}};
    balance(result);
    EXPECT_FALSE(result.account);
    EXPECT_THAT(result.problems,
                testing::ElementsAre(HasSubstr("because rec-1 did not report which events have been recorded")));

    result.problems.clear();
    result.stations[0].events.reset();
    result.stations[2].events = known({{"recorded", "1-9"}});
    balance(result);
    EXPECT_THAT(result.problems,
                testing::ElementsAre(HasSubstr("because l2sv and dfm did not report which events were accepted")));
}

TEST_F(RunControlTest, ARunOfWhichMoreEventsAreIncompleteThanMayBeIsABadOneAndNamesTheSources) {
    start_run();
    station("dfm").report.status = {.ledger = {.received = 82, .stored = 82}, .counters = {{"incomplete", 82}}};
    station("l2sv").report.status.ledger = {.received = 82, .stored = 82};
    station("sfi-1").report.status = {
        .ledger = {.received = 82, .stored = 82},
        .sources = {{.source = SourceId{1}, .expected = 82, .missing = 82}, {.source = SourceId{2}, .expected = 82}}};
    pass(1s);
    EXPECT_EQ(control->view().sources->at(0).counts.missing, 82U);
    EXPECT_EQ(control->view().sources->at(0).readout, "ros-1");
    ASSERT_TRUE(control->stop("enough"));
    pass(1s);
    EXPECT_THAT(problems(), Contains("82 of 82 events are incomplete, more than incomplete_max (0.1% or 10): source "
                                     "0x000001 of ros-1 was missing in 82 of 82"));
    EXPECT_THAT(reported, Contains("source 0x000001 of ros-1 loses fragments: missing in 82 of 82 events"));
    const auto alarms = reports.alarms();
    EXPECT_TRUE(std::ranges::any_of(alarms, [](const auto& a) { return a.name == "source 0x000001 loses fragments"; }));
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

TEST_F(RunControlTest, AMaskIsSentToReadoutsAndBuildersFromAnEventThatNoneHasBegun) {
    start_run();
    station("sfi-1").report.status.counters["newest_level1_id"] = 40;
    station("sfi-2").report.status.counters["newest_level1_id"] = 50;
    pass(1s);
    EXPECT_EQ(control->mask(SourceId{9}, true, "ann").error().code, Errc::usage);
    EXPECT_EQ(control->mask(SourceId{1}, false, "ann").error().code, Errc::refused);
    ASSERT_TRUE(control->mask(SourceId{1}, true, "ann"));
    pass(1s);
    const std::vector<service::SourceMask> masks{{SourceId{1}, true, Level1Id{100}}};
    for (const auto* name : {"ros-1", "ros-2", "sfi-1", "sfi-2"}) EXPECT_EQ(station(name).masks, masks) << name;
    EXPECT_TRUE(control->view().sources->at(0).masked);
    const auto changes = control->view().changes;
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0].what + " " + changes[0].subject + " " + changes[0].who, "mask 0x000001 ann");
    EXPECT_EQ(changes[0].from, Level1Id{100});
    station("sfi-1").masks.clear();
    world.kill("sfi-1");
    pass(1s);
    EXPECT_EQ(station("sfi-1").masks, masks) << "also of a process that is replaced";
    ASSERT_TRUE(control->stop("enough"));
    pass(1s);
    ASSERT_TRUE(control->start({}));
    pass(1s);
    EXPECT_EQ(station("ros-1").masks, (std::vector<service::SourceMask>{{SourceId{1}, true, {}}})) << "the next run";
}

TEST_F(RunControlTest, EveryChangeOfARunIsNotedWithinASecondAndOnlyOnce) {
    start_run();
    EXPECT_EQ(world.changes_noted, 1) << "from the begin of the run on";
    EXPECT_EQ(world.changes.run, control->view().run);
    EXPECT_EQ(world.changes.started, control->view().started);
    pass(3s);
    EXPECT_EQ(world.changes_noted, 1) << "nothing was changed";
    ASSERT_TRUE(control->mask(SourceId{1}, true, "ann"));
    ASSERT_TRUE(control->pause());
    pass(1s);
    EXPECT_EQ(world.changes_noted, 2);
    EXPECT_EQ(world.changes.list, control->view().changes);
    ASSERT_EQ(world.changes.list.size(), 2U);
    ASSERT_TRUE(control->stop("enough"));
    pass(1s);
    ASSERT_EQ(world.changes.list.size(), 3U);
    EXPECT_EQ(world.changes.list[2].what + ": " + world.changes.list[2].why, "stop: enough");
    ASSERT_TRUE(control->start({}));
    pass(1s);
    ASSERT_EQ(world.changes.list.size(), 1U);
    EXPECT_EQ(world.changes.list[0].what + " " + world.changes.list[0].subject, "mask 0x000001");
    EXPECT_FALSE(world.changes.list[0].from) << "masked from the begin of the next run on";
}

TEST_F(RunControlTest, APartitionFileIsAppliedBetweenRunsAndOnlyStationsThatItConcernsStartAnew) {
    come_up();
    int puts = 0;
    const auto put = [&]() -> Result<> { return ++puts, Result<>{}; };
    auto others = options;
    others.masked = {SourceId{2}};
    others.poll = 50ms;
    ASSERT_TRUE(control->apply(others, {"sfi-1"}, put));
    EXPECT_EQ(control->apply(others, {"sfi-1"}, put).error().code, Errc::refused) << "it is being started";
    EXPECT_EQ(puts, 1);
    pass(1s);
    for (const auto& [name, station] : world.stations) EXPECT_EQ(station.processes, name == "sfi-1" ? 2 : 1) << name;
    ASSERT_TRUE(control->start({}));
    pass(1s);
    EXPECT_EQ(station("ros-1").masks, (std::vector<service::SourceMask>{{SourceId{2}, true, {}}}));
    EXPECT_EQ(control->apply(options, {}, put).error().message(),
              "cannot apply a partition file: the partition is running");
    ASSERT_TRUE(control->stop("enough"));
    pass(1s);
    EXPECT_THAT(problems(), testing::IsEmpty()) << "a station that was started anew before the run costs nothing";
    const auto full = []() -> Result<> { return fail(Errc::io, "the disk is full"); };
    EXPECT_FALSE(control->apply(options, {"sfi-1"}, full));
    pass(1s);
    EXPECT_EQ(station("sfi-1").processes, 2) << "nothing was changed";
    ASSERT_TRUE(control->apply(options, {}, put));
    ASSERT_TRUE(control->start({}));
    pass(1s);
    EXPECT_THAT(station("ros-1").masks, testing::IsEmpty());
}

}  // namespace
}  // namespace weir::control
