// SPDX-License-Identifier: Apache-2.0
// Which run control an agent obeys, and what becomes of its stations without one.
#include "weir/control/host_agent.hpp"

#include <gmock/gmock.h>

#include "host_agent_fixture.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class HostAgentCommander : public HostAgentTest {};

TEST_F(HostAgentCommander, AnOlderRunControlIsRefusedByName) {
    start_agent();
    const Commander old{5, "old", false}, fresh{6, "fresh", false};
    std::uint64_t number = 0;
    const auto poll = [&](Commander who) {
        return post("/poll", to_json(HostPoll{std::move(who), ++number, 0, 0, {}}));
    };
    EXPECT_TRUE(poll(old).good());
    const auto refused = poll(fresh);
    EXPECT_EQ(refused.status, 409U);
    EXPECT_THAT(refused.error(), testing::StartsWith("old commands h1, and spoke "));
    EXPECT_TRUE(poll({6, "fresh", true}).good());
    EXPECT_EQ(poll({6, "another", true}).error(), "superseded: fresh commands h1 now") << "of the same epoch";
    EXPECT_EQ(poll(old).error(), "superseded: fresh commands h1 now");
    const auto order = post("/processes", to_json(ProcessOrder{old, "ros-1", 9, {"weir", "readout"}, ""}));
    EXPECT_EQ(order.error(), "superseded: fresh commands h1 now");
}

TEST_F(HostAgentCommander, WhoComesAfterARunControlThatHasEndedDoesNotWait) {
    start_agent();
    const Commander first{5, "first", false}, second{6, "second", false};
    EXPECT_TRUE(post("/poll", to_json(HostPoll{first, 1, 0, 0, {}, false})).good());
    EXPECT_EQ(post("/poll", to_json(HostPoll{second, 1, 0, 0, {}, false})).status, 409U);
    EXPECT_TRUE(post("/poll", to_json(HostPoll{first, 2, 0, 0, {}, true})).good());
    EXPECT_TRUE(post("/poll", to_json(HostPoll{second, 1, 0, 0, {}, false})).good());
    EXPECT_EQ(post("/poll", to_json(HostPoll{{7, "third", false}, 1, 0, 0, {}, false})).status, 409U) << "it speaks";
}

TEST_F(HostAgentCommander, AnOrderThatAPollHasOvertakenStartsNothing) {
    start_agent();
    const Commander who{5, "one", false};
    EXPECT_TRUE(post("/poll", to_json(HostPoll{who, 1, 0, 12, {11}})).good());
    const auto order = [&](std::uint64_t generation) {
        return post("/processes",
                    to_json(ProcessOrder{who, "ros-1", generation, {"weir", "readout", "p", "--name", "ros-1"}, ""}));
    };
    EXPECT_EQ(order(12).error(), "ros-1 is not wanted any more");
    EXPECT_TRUE(order(11).good());
    EXPECT_EQ(order(11).error(), "ros-1 is not wanted any more") << "it came twice";
    EXPECT_TRUE(order(13).good()) << "in place of the one before";
}

TEST_F(HostAgentCommander, APollThatComesLateChangesNothing) {
    start_agent();
    const Commander who{5, "one", false};
    EXPECT_TRUE(post("/poll", to_json(HostPoll{who, 2, 0, 12, {12}})).good());
    EXPECT_EQ(post("/poll", to_json(HostPoll{who, 1, 0, 12, {}})).status, 409U);
    EXPECT_TRUE(
        post("/processes", to_json(ProcessOrder{who, "ros-1", 12, {"weir", "readout", "p", "--name", "ros-1"}, ""}))
            .good());
}

TEST_F(HostAgentCommander, RunControlThatStoodStillHearsNoSilence) {
    start_agent();
    lost_after = 2s;
    start_launcher();
    const auto process = launch();
    ASSERT_TRUE(eventually([&] { return process->announcement().has_value(); }));
    std::this_thread::sleep_for(lost_after + 100ms);
    launcher->step();
    EXPECT_FALSE(process->ended()) << "nobody was asked meanwhile";
}

TEST_F(HostAgentCommander, ARunControlThatTakesOverAdoptsWhatRuns) {
    start_agent();
    start_launcher();
    const auto first = launch();
    ASSERT_TRUE(eventually([&] { return first->announcement().has_value(); }));
    const auto pid = first->pid();
    HostLauncher next(partition,
                      {.name = "two", .epoch = 8, .partition_file = folder / "p.toml", .take_over = true, .poll = 10ms},
                      *calls, *calls, reporter(), system_clock());
    next.look_for_left(1h, [] { return true; });
    const LaunchRequest request{"ros-1", {"weir", "readout", "partition.toml", "--name", "ros-1"}, {}};
    const auto adopted = next.adopt(request);
    ASSERT_TRUE(adopted);
    EXPECT_EQ(adopted->pid(), pid);
    EXPECT_THAT(adopted->announcement().value_or(""), HasSubstr("/stations/ros-1"));
    EXPECT_EQ(next.adopt(request), nullptr) << "once";
    const auto link = next.open(server->address() + "/stations/ros-1");
    std::optional<Result<service::StationReport>> report;
    link->ask(false);
    ASSERT_TRUE(eventually([&] {
        next.step();
        report = link->report();
        return report.has_value();
    }));
    EXPECT_EQ((*report)->status.ledger.received, 17U);
    EXPECT_TRUE(eventually([&] { return all_reports().contains("obeys another run control"); }));
    EXPECT_TRUE(alive(pid));
    EXPECT_FALSE(adopted->ended());
    const auto lines = next.log_of(request);
    std::string logged;
    EXPECT_TRUE(eventually([&] {
        next.step();
        lines->read([&](std::string_view line) { logged += line; });
        return logged.contains("line of ros-1");
    })) << "its log has no gap";
    ::kill(static_cast<pid_t>(pid), SIGKILL);
    ASSERT_TRUE(eventually([&] {
        next.step();
        return adopted->ended().has_value();
    }));
    EXPECT_EQ(adopted->ended()->signal, SIGKILL);
}

TEST_F(HostAgentCommander, ACallOfASupersededRunControlDoesNotReachAStation) {
    start_agent();
    start_launcher();
    const auto process = launch();
    ASSERT_TRUE(eventually([&] { return process->announcement().has_value(); }));
    const auto answer = post("/stations/ros-1/transition?epoch=1", R"({"name":"configure"})");
    EXPECT_EQ(answer.status, 409U);
    EXPECT_THAT(answer.error(), HasSubstr("superseded: one commands h1 now"));
    EXPECT_EQ(post("/stations/ros-9/transition", "{}").error(), "h1 runs no station \"ros-9\"; there are ros-1");
}

TEST_F(HostAgentCommander, WithoutRunControlStationsEndProperly) {
    start_agent(200ms);
    const Commander who{5, "one", false};
    ASSERT_TRUE(
        post("/processes", to_json(ProcessOrder{who, "ros-1", 9, {"weir", "readout", "p", "--name", "ros-1"}, ""}))
            .good());
    EXPECT_TRUE(eventually([&] { return all_reports().contains("one has not spoken for 200ms"); }));
    EXPECT_TRUE(eventually([&] {
        const auto answer = service::ControlClient(server->address()).get("/host", patience);
        return answer && answer->body.contains("\"signal\":15");
    }));
}

TEST_F(HostAgentCommander, OneThatAnEngineHasStartedIsOverWithItsRunControlOrWithoutOne) {
    start_agent(1h, "127.0.0.1:0", true);
    start_launcher();
    auto process = launch();
    ASSERT_TRUE(eventually([&] { return process->announcement().has_value(); }));
    const auto pid = process->pid();
    EXPECT_FALSE(agent->over());
    launcher.reset();
    EXPECT_TRUE(eventually([&] { return agent->over(); }));
    EXPECT_FALSE(alive(pid));
    const auto refused = post("/poll", to_json(HostPoll{{9, "next", false}, 1, 0, 0, {}}));
    EXPECT_EQ(refused.status, 503U) << "the next run control gets another agent";
    EXPECT_EQ(refused.error(), "the agent of h1 ends with its run control");

    server.reset();
    start_agent(10ms, "127.0.0.1:0", true);
    EXPECT_TRUE(eventually([&] { return agent->over(); })) << "no run control has come";

    server.reset();
    start_agent();
    start_launcher();
    ASSERT_TRUE(eventually([&] { return launcher->view().front().state == "up"; }));
    launcher.reset();
    EXPECT_FALSE(agent->over()) << "who started this one ends it";
}

}  // namespace
}  // namespace weir::control
