// SPDX-License-Identifier: Apache-2.0
// What an agent does with its stations: starts, asks, ends and loses them.
#include "weir/control/host_agent.hpp"

#include <gmock/gmock.h>

#include "host_agent_fixture.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST_F(HostAgentTest, AStationIsStartedAskedAndEndedThroughTheAgent) {
    start_agent();
    start_launcher();
    const auto lines = launcher->log_of({"ros-1", {}, {}});
    const auto process = launch();
    std::optional<std::string> line;
    ASSERT_TRUE(eventually([&] { return (line = process->announcement()).has_value(); }));
    EXPECT_THAT(*line, HasSubstr(server->address() + "/stations/ros-1")) << "its own port is for its machine only";
    EXPECT_EQ(process->host(), "h1");
    const auto pid = process->pid();
    EXPECT_TRUE(alive(pid));

    const auto link = launcher->open(server->address() + "/stations/ros-1");
    link->ask(false);
    std::optional<Result<service::StationReport>> report;
    ASSERT_TRUE(eventually([&] { return (report = link->report()).has_value(); }));
    ASSERT_TRUE(*report);
    EXPECT_EQ((*report)->status.ledger.received, 17U);
    link->call({.transition = service::Transition::configure});
    std::optional<CallAnswer> answer;
    ASSERT_TRUE(eventually([&] { return (answer = link->answer()).has_value(); }));
    EXPECT_TRUE(*answer) << answer->error().why;

    std::string log;
    ASSERT_TRUE(eventually([&] {
        lines->read([&](std::string_view text_of_line) { log += text_of_line; });
        return !log.empty();
    }));
    EXPECT_EQ(log, "line of ros-1");

    process->terminate();
    std::optional<ProcessEnd> end;
    ASSERT_TRUE(eventually([&] { return (end = process->ended()).has_value(); }));
    EXPECT_EQ(end->signal, SIGTERM);
    EXPECT_FALSE(alive(pid));
}

TEST_F(HostAgentTest, AReportIsNotOlderThanTheQuestion) {
    start_agent();
    start_launcher();
    const auto process = launch();
    ASSERT_TRUE(eventually([&] { return process->announcement().has_value(); }));
    const auto link = launcher->open(server->address() + "/stations/ros-1");
    for (int i = 0; i < 5; ++i) {
        const int before = asked;
        link->ask(false);
        ASSERT_TRUE(eventually([&] { return link->report().has_value(); }));
        EXPECT_GT(asked, before);
    }
}

TEST_F(HostAgentTest, QuestionsOfOneKindThatHangLeaveAPlaceToOthers) {
    start_agent();
    start_launcher();
    const auto process = launch();
    ASSERT_TRUE(eventually([&] { return process->announcement().has_value(); }));
    const auto ask = [&](const std::string& path) {
        calls->get(server->address() + "/stations/ros-1", path, patience,
                   [&](const Result<service::ControlAnswer>& answer) {
                       if (answer && answer->status == 503) ++refused;
                       if (answer && answer->good()) ++answered;
                   });
    };
    for (int i = 0; i < 7; ++i) ask("/files?run=1");
    const auto waiting = [&] {
        const std::scoped_lock lock(mutex);
        return held.size();
    };
    const auto let_go = [&] {
        const std::scoped_lock lock(mutex);
        for (const auto& answer : std::exchange(held, {})) answer({.status = 200, .body = "{}"});
    };
    ASSERT_TRUE(eventually([&] { return waiting() == 5 && refused == 2; }));
    const auto status = [&] {
        const auto answer = service::ControlClient(server->address() + "/stations/ros-1").get("/status", patience);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer ? answer->status : 0;
    };
    EXPECT_EQ(status(), 200U);
    ask("/events");
    ASSERT_TRUE(eventually([&] { return waiting() == 6; }));
    EXPECT_EQ(status(), 503U) << "it has six places for all";
    let_go();
    ASSERT_TRUE(eventually([&] { return answered == 6; }));
    ask("/files?run=1");
    ASSERT_TRUE(eventually([&] { return waiting() == 1; })) << "the places are free again";
    let_go();
    ASSERT_TRUE(eventually([&] { return answered == 7; }));
}

TEST_F(HostAgentTest, HowAStationEndedIsKnown) {
    write_program("exit 3");
    start_agent();
    start_launcher();
    const auto process = launch();
    std::optional<ProcessEnd> end;
    ASSERT_TRUE(eventually([&] { return (end = process->ended()).has_value(); }));
    EXPECT_EQ(end->text(), "ended with code 3");
}

TEST_F(HostAgentTest, WhatIsWantedNoMoreEnds) {
    start_agent();
    start_launcher();
    auto process = launch();
    ASSERT_TRUE(eventually([&] { return process->announcement().has_value(); }));
    const auto pid = process->pid();
    process.reset();
    EXPECT_TRUE(eventually([&] { return !alive(pid); }));

    auto other = launch();
    ASSERT_TRUE(eventually([&] { return other->announcement().has_value(); }));
    const auto second = other->pid();
    launcher.reset();  // its agents hear it
    EXPECT_TRUE(eventually([&] { return !alive(second); }));
}

TEST_F(HostAgentTest, BooksOfNoDirectoryAreRefused) {
    start_agent();
    const auto books = [&](const std::string& directory) {
        return post("/books", R"({"commander":{"epoch":5,"name":"one"},"directory":")" + directory +
                                  R"(","what":"next_free_run"})");
    };
    EXPECT_THAT(books("").error(), HasSubstr("is no directory here"));
    EXPECT_EQ(books("/none").body, "{\"run\":1}\n") << "there is no catalogue yet";
}

TEST_F(HostAgentTest, WhatWaitsForAMachineThatNeverComesStartsElsewhereAlsoWhenOthersWereStartedThereMeanwhile) {
    partition = *parse_partition(
        "[hosts.h1]\naddress = \"127.0.0.1:1\"\n[hosts.h2]\naddress = \"127.0.0.1:2\"\n[readout.ros-1]\nhost = \"h1\"\n"
        "[supervise.l2sv]\nhost = \"h1\"\n[assign.dfm]\nhost = \"h1\"\n[build.sfi-1]\nhost = \"h2\"\n"
        "[record.rec-1]\nhost = \"h1\"\n",
        "p.toml");
    lost_after = 3s;
    start_agent();
    start_launcher();
    const auto waits = launch("sfi-1");
    const auto later = launch();
    ASSERT_TRUE(eventually([&] { return later->announcement().has_value(); }));
    EXPECT_TRUE(eventually([&] { return waits->announcement().has_value(); }));
    EXPECT_EQ(waits->host(), "h1");
    EXPECT_FALSE(waits->ended());
}

TEST_F(HostAgentTest, AMachineThatDoesNotAnswerIsLostAndAStationThatStaysWaitsForIt) {
    start_agent();
    lost_after = 3s;
    start_launcher();
    const auto process = launch();
    ASSERT_TRUE(eventually([&] { return process->announcement().has_value(); }));
    const auto address = server->address();
    server.reset();
    std::optional<ProcessEnd> end;
    ASSERT_TRUE(eventually([&] { return (end = process->ended()).has_value(); }));
    EXPECT_THAT(end->text(), testing::StartsWith("is lost with h1: "));
    EXPECT_EQ(launcher->view().front().state, "lost");

    const auto again = launch();  // a readout: its hardware is there
    EXPECT_FALSE(again->ended());
    auto serving = service::HttpServer::start({.listen = address, .connections_per_peer_max = 100}, agent->routes());
    ASSERT_TRUE(serving) << serving.error().message();
    server.emplace(std::move(*serving));
    EXPECT_TRUE(eventually([&] { return again->announcement().has_value(); }));
    EXPECT_FALSE(alive(process->pid())) << "the one before was ended";
}

}  // namespace
}  // namespace weir::control
