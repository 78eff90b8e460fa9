// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_control.hpp"

#include <gmock/gmock.h>

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

TEST_F(RunControlTest, ShuttingDownARunStopsItFirst) {
    start_run();
    control->shut_down("interrupted");
    pass(1s);
    EXPECT_EQ(control->view().state, PartitionState::down);
    EXPECT_EQ(control->view().last->reason, "interrupted");
    EXPECT_EQ(world.count("rec-1 stop"), 1U);
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

TEST_F(RunControlTest, WhereWeirRefusedFragmentsTheAdviceSaysSoBeforeItBlamesTheBoard) {
    start_run();
    station("ros-1").report.status.sources = {{.source = SourceId{1}, .refused = 7}};
    station("sfi-1").report.status.sources = {{.source = SourceId{1}, .expected = 82, .missing = 82}};
    pass(1s);
    const auto alarms = reports.alarms();
    const auto found =
        std::ranges::find(alarms, "source 0x000001 loses fragments", [](const auto& a) { return a.name; });
    ASSERT_NE(found, alarms.end());
    EXPECT_THAT(found->report.advice,
                HasSubstr("7 of its fragments were refused: the counts of ros-1 say why (full: it needs"));
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
