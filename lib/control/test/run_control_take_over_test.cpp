// SPDX-License-Identifier: Apache-2.0
// A run control that dies, and one that goes on with what it left.
#include "run_control_fixture.hpp"

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
