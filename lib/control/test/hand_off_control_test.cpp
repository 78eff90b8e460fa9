// SPDX-License-Identifier: Apache-2.0
// A hand-off among the stations of a partition: no run waits for it longer than its share, ends for its sake, or is
// bad.
#include "run_control_fixture.hpp"

namespace weir::control {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class HandOffControlTest : public RunControlTest {
protected:
    HandOffControlTest() : RunControlTest(usual_stations + std::string("[handoff.out]\n")) {
        world.files = {.closed = 25, .handed_over = 25};
    }
    void stop_run(std::chrono::milliseconds time = 1s) {
        ASSERT_TRUE(control->stop("enough"));
        pass(time);
        ASSERT_EQ(control->view().state, PartitionState::ready);
    }
};

TEST_F(HandOffControlTest, ItStartsWhenAllEventsFlowAndStopsWhenAllAreRecorded) {
    const auto run = start_run();
    EXPECT_EQ(station("out").started, run);
    EXPECT_LT(world.place("l2sv start"), world.place("out start"));
    stop_run();
    EXPECT_LT(world.place("rec-1 stop"), world.place("out stop"));
    EXPECT_LT(world.place("ros-1 stop"), world.place("out stop"));
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_EQ(control->view().last->hand_off->handed_over, 25U);
    EXPECT_THAT(reported, Not(Contains(HasSubstr("not handed over"))));
}

TEST_F(HandOffControlTest, WhatIsLeftIsNamedAndIsNoProblem) {
    start_run();
    world.files = {.closed = 25, .handed_over = 23, .left = 2, .names = {"a.data", "b.data"}};
    station("out").report.status.ledger = {"files", 25, 23, {}, 2};
    stop_run();
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_THAT(reported, Contains("run 1: 2 of 25 files are not handed over yet: a.data, b.data"));
}

TEST_F(HandOffControlTest, OneThatDiesInARunIsStartedAgainAndTheOthersAreNotDisturbed) {
    const auto run = start_run();
    world.kill("out");
    station("out").started.reset();
    pass(500ms);
    EXPECT_EQ(station("out").started, run);
    EXPECT_EQ(world.count("dfm change_peers"), 0U);
    EXPECT_EQ(control->view().state, PartitionState::running);
    stop_run();
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(HandOffControlTest, OneThatDiesAgainAndAgainEndsNoRunAndKeepsNoneFromBeginning) {
    start_run();
    for (int i = 0; i < 20; ++i) {
        world.kill("out");
        pass(300ms);
    }
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_THAT(reported, Contains(HasSubstr("signal 9 (Killed), 6 times within 1min")));
    stop_run();
    EXPECT_THAT(problems(), IsEmpty());
    ASSERT_TRUE(control->start({}));
    pass(300ms);
    EXPECT_EQ(control->view().state, PartitionState::running);
}

TEST_F(HandOffControlTest, OneThatCannotStartLeavesTheRunToTheOthers) {
    station("out").refuses = "start";  // another process hands over
    start_run();
    pass(2s);
    EXPECT_EQ(control->view().state, PartitionState::running);
    stop_run();
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(HandOffControlTest, OneThatHangsInItsStartHoldsUpNoRun) {
    station("out").hangs_in = "start";
    start_run();
    pass(1min);
    EXPECT_EQ(control->view().state, PartitionState::running);
    station("out").hangs_in.clear();
    stop_run();
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(HandOffControlTest, OneThatCannotConnectKeepsThePartitionFromNothing) {
    station("out").refuses = "connect";
    ASSERT_TRUE(control->bring_up());
    pass(3s);
    ASSERT_EQ(control->view().state, PartitionState::ready);
    ASSERT_TRUE(control->start({}));
    pass(300ms);
    EXPECT_EQ(control->view().state, PartitionState::running);
    stop_run();
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_THAT(reported, Contains(HasSubstr("out died too often")));
}

TEST_F(HandOffControlTest, OneThatHangsInTheStopIsEndedWithinItsShareAndTheRunIsGood) {
    start_run();
    station("out").hangs_in = "stop";
    ASSERT_TRUE(control->stop("enough"));
    pass(options.stop_deadline);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_THAT(reported, Contains(HasSubstr("out did not answer stop")));
}

TEST_F(HandOffControlTest, AFileThatARecorderClosedAndNoCatalogueHasIsAProblem) {
    start_run();
    station("rec-1").report.status.counters["files"] = 26;
    pass(500ms);
    stop_run();
    EXPECT_THAT(problems(), Contains(HasSubstr("the recorders closed 26 files, and their catalogues have 25")));
}

TEST_F(HandOffControlTest, WhatNoHandOffHandsOverIsNamedApartAndNotSaidToGoLater) {
    start_run();
    world.files = {.closed = 25,
                   .handed_over = 21,
                   .left = 4,
                   .quarantined = 1,
                   .without_sum = 2,
                   .names = {"a.data"},
                   .names_kept = {"b.data", "c.data", "d.data"}};
    stop_run();
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_THAT(reported, Contains("run 1: 1 of 25 files is not handed over yet: a.data"));
    EXPECT_THAT(reported, Contains("run 1: 3 of 25 files are not handed over and stay here, 1 quarantined, 2 without a "
                                   "sum: b.data, c.data, d.data"));
    world.files = {.closed = 1, .left = 1, .quarantined = 1, .names_kept = {"b.data"}};
    ASSERT_TRUE(control->start({}));
    pass(300ms);
    stop_run();
    EXPECT_THAT(reported, Contains("run 2: 1 of 1 file is not handed over and stays here, 1 quarantined: b.data"));
    EXPECT_THAT(reported, Not(Contains(HasSubstr("run 2: 0 of"))));
}

TEST_F(HandOffControlTest, AtTheEndItHasTheTimeThatItsDestinationsMayTakeAndTheOthersTheirDeadline) {
    come_up();
    for (const auto* name : {"out", "ef-1"}) station(name).deaf_to_sigterm = true;
    control->shut_down("enough");
    pass(options.exit_deadline + 100ms);
    EXPECT_FALSE(station("ef-1").alive);
    EXPECT_TRUE(station("out").alive) << "it removes what it began at its destinations";
    pass(20s);
    EXPECT_FALSE(station("out").alive);
    EXPECT_EQ(control->view().state, PartitionState::down);
}

class TwoRecordersAndOneHandOff : public RunControlTest {
protected:
    TwoRecordersAndOneHandOff()
        : RunControlTest(usual_stations + std::string("[record.rec-2]\n[handoff.out]\nrecorder = \"rec-1\"\n")) {
        world.files = {.closed = 25, .handed_over = 25};
    }
};

TEST_F(TwoRecordersAndOneHandOff, FilesOfTheOtherRecorderAreNotMissingInTheAccount) {
    start_run();
    station("rec-1").report.status.counters["files"] = 25;
    station("rec-2").report.status.counters["files"] = 10;
    pass(500ms);
    ASSERT_TRUE(control->stop("enough"));
    pass(1s);
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_EQ(control->view().last->files, 35U);
}

}  // namespace
}  // namespace weir::control
