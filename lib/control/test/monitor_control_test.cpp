// SPDX-License-Identifier: Apache-2.0
// A monitor among the stations of a partition: no run waits for it, ends for its sake, or is bad, whatever it counts.
#include "run_control_fixture.hpp"

namespace weir::control {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class MonitorControlTest : public RunControlTest {
protected:
    MonitorControlTest() : RunControlTest(usual_stations + std::string("[monitor.beam]\n")) {}
    void stop_run(std::chrono::milliseconds time = 1s) {
        ASSERT_TRUE(control->stop("enough"));
        pass(time);
        ASSERT_EQ(control->view().state, PartitionState::ready);
        EXPECT_THAT(problems(), IsEmpty());
    }
};

TEST_F(MonitorControlTest, ItStartsAndStopsLastAndKnowsWhereEventsCanBeAskedFor) {
    const auto run = start_run();
    EXPECT_EQ(station("beam").started, run);
    EXPECT_LT(world.place("l2sv start"), world.place("beam start"));
    EXPECT_THAT(station("beam").peers, Contains(station("ef-1").as_peer()));
    EXPECT_EQ(station("ef-1").as_peer().control, "ef-1#1");
    stop_run();
    EXPECT_LT(world.place("rec-1 stop"), world.place("beam stop"));
}

TEST_F(MonitorControlTest, WhatItCountsIsInNoAccount) {
    start_run();
    station("beam").report.status.ledger = {"events", 25, 3, {}, 2};  // does not even balance
    stop_run();
}

TEST_F(MonitorControlTest, OneThatDiesInARunIsStartedAgainAndTheOthersAreNotDisturbed) {
    const auto run = start_run();
    world.kill("beam");
    station("beam").started.reset();
    pass(500ms);
    EXPECT_EQ(station("beam").started, run);
    EXPECT_EQ(world.count("dfm change_peers"), 0U);
    stop_run();
}

TEST_F(MonitorControlTest, OneThatIsGoneForGoodEndsNoRunAndKeepsNoneFromBeginning) {
    start_run();
    for (int i = 0; i < 20; ++i) {
        world.kill("beam");
        pass(300ms);
    }
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_THAT(reported, Contains(HasSubstr("signal 9 (Killed), 6 times within 1min")));
    stop_run();
    ASSERT_TRUE(control->start({}));
    pass(300ms);
    EXPECT_EQ(control->view().state, PartitionState::running);
}

TEST_F(MonitorControlTest, OneThatHangsInItsStopDelaysTheEndByItsShareAlone) {
    start_run();
    station("beam").hangs_in = "stop";
    ASSERT_TRUE(control->stop("enough"));
    pass(options.stop_deadline + 3s);
    EXPECT_EQ(control->view().state, PartitionState::ready);
    EXPECT_THAT(problems(), IsEmpty());
}

}  // namespace
}  // namespace weir::control
