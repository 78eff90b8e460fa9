// SPDX-License-Identifier: Apache-2.0
// An agent and a run control's launcher with real processes, which are shell scripts that announce themselves as
// stations do, and a control port that answers for all of them.
#include "weir/control/host_agent.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>

#include "hosts/host_messages.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/control/host_launcher.hpp"
#include "weir/json/parse.hpp"
#include "weir/service/control_client.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto patience = 120s;

class HostAgentTest : public testing::Test {
protected:
    HostAgentTest() {
        std::string pattern = testing::TempDir() + "agent-XXXXXX";
        folder = ::mkdtemp(pattern.data());
        port.emplace(std::move(
            *service::HttpServer::start({}, {{service::HttpRoute::Method::get, "/status",
                                              [this](const service::HttpRequest&, const service::HttpAnswer& answer) {
                                                  ++asked;
                                                  answer({.status = 200, .body = status()});
                                              }},
                                             {service::HttpRoute::Method::get, "/files",
                                              [this](const service::HttpRequest&, const service::HttpAnswer& answer) {
                                                  const std::scoped_lock lock(mutex);
                                                  held.push_back(answer);
                                              }},
                                             {service::HttpRoute::Method::get, "/events",
                                              [this](const service::HttpRequest&, const service::HttpAnswer& answer) {
                                                  const std::scoped_lock lock(mutex);
                                                  held.push_back(answer);
                                              }},
                                             {service::HttpRoute::Method::post, "/transition",
                                              [](const service::HttpRequest&, const service::HttpAnswer& answer) {
                                                  answer({.status = 200, .body = R"({"state":"configured"})"});
                                              }}})));
        write_program("exec sleep 1000");
        std::ofstream(folder / "p.toml") << text;
        partition = *parse_partition(text, "p.toml");
    }
    ~HostAgentTest() override {
        launcher.reset();
        server.reset();
        agent.reset();
        std::filesystem::remove_all(folder);
    }

    static std::string status() {
        service::StationReport report;
        report.station = "ros-1";
        report.status.ledger.received = 17;
        return to_json(report);
    }
    /// What stands for weir: weir readout partition.toml --name NAME.
    void write_program(const std::string& then) const {
        const auto path = folder / "program";
        std::ofstream(path) << "#!/bin/sh\necho \"line of $4\" >&2\n"
                            << "echo '{\"station\":\"'$4'\",\"kind\":\"readout\",\"control\":\"" << port->address()
                            << "\"}'\n"
                            << then << "\n";
        ::chmod(path.c_str(), 0755);
    }
    void start_agent(std::chrono::milliseconds orphan_after = 1h, const std::string& listen = "127.0.0.1:0",
                     bool ends_with_run = false) {
        auto started = HostAgent::start({.name = "h1",
                                         .directory = folder / "agent",
                                         .program = folder / "program",
                                         .orphan_after = orphan_after,
                                         .ends_with_run = ends_with_run},
                                        std::move(*service::ControlCalls::start()), reporter(), system_clock());
        ASSERT_TRUE(started) << started.error().message();
        agent = std::move(*started);
        auto serving = service::HttpServer::start({.listen = listen, .connections_per_peer_max = 100}, agent->routes());
        ASSERT_TRUE(serving) << serving.error().message();
        server.emplace(std::move(*serving));
        partition.hosts.front().address = server->address();
    }
    void start_launcher(bool take_over = false, const std::string& name = "one") {
        launcher.emplace(partition,
                         HostLauncherOptions{.name = name,
                                             .epoch = 7,
                                             .partition_file = folder / "p.toml",
                                             .take_over = take_over,
                                             .poll = 10ms,
                                             .suspected_after = lost_after,
                                             .lost_after = lost_after},
                         *calls, *calls, reporter(), system_clock());
    }
    [[nodiscard]] Reporter reporter() {
        return [this](const Report& report) {
            const std::scoped_lock lock(mutex);
            reports.push_back(text_of(report));
        };
    }
    [[nodiscard]] std::string all_reports() const {
        const std::scoped_lock lock(mutex);
        std::string all;
        for (const auto& line : reports) all += line + "\n";
        return all;
    }
    std::unique_ptr<LaunchedProcess> launch(const std::string& name = "ros-1") {
        auto process = launcher->launch({name, {"weir", "readout", "partition.toml", "--name", name}, {}});
        EXPECT_TRUE(process) << process.error().message();
        return std::move(process.value());
    }
    /// Whether it comes to be, with the launcher at work.
    template <class Condition>
    testing::AssertionResult eventually(const Condition& condition) {
        const auto until = std::chrono::steady_clock::now() + patience;
        while (std::chrono::steady_clock::now() < until) {
            if (launcher) launcher->step();
            if (condition()) return testing::AssertionSuccess();
            std::this_thread::sleep_for(1ms);
        }
        return testing::AssertionFailure() << all_reports();
    }
    [[nodiscard]] static bool alive(std::int64_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0; }
    [[nodiscard]] service::ControlAnswer post(const std::string& path, const std::string& body) const {
        const auto answer = service::ControlClient(server->address()).post(path, body, patience);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer.value_or(service::ControlAnswer{});
    }

    const std::string text =
        "[hosts.h1]\naddress = \"127.0.0.1:1\"\n[readout.ros-1]\n[supervise.l2sv]\n[assign.dfm]\n"
        "[build.sfi-1]\n[record.rec-1]\n";
    std::filesystem::path folder;
    mutable std::mutex mutex;
    std::vector<std::string> reports;
    std::vector<service::HttpAnswer> held;  // of a station whose disk hangs
    std::atomic<int> refused = 0, answered = 0;
    std::atomic<int> asked = 0;
    std::chrono::milliseconds lost_after{1h};
    Partition partition;
    std::optional<service::HttpServer> port;
    std::unique_ptr<service::ControlCalls> calls = std::move(*service::ControlCalls::start());
    std::unique_ptr<HostAgent> agent;
    std::optional<service::HttpServer> server;
    std::optional<HostLauncher> launcher;
};

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
    const auto status = service::ControlClient(server->address() + "/stations/ros-1").get("/status", patience);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->status, 200U);
    ask("/events");
    ASSERT_TRUE(eventually([&] { return waiting() == 6; }));
    EXPECT_EQ(service::ControlClient(server->address() + "/stations/ros-1").get("/status", patience)->status, 503U)
        << "it has six places for all";
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

TEST_F(HostAgentTest, AnOlderRunControlIsRefusedByName) {
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

TEST_F(HostAgentTest, WhoComesAfterARunControlThatHasEndedDoesNotWait) {
    start_agent();
    const Commander first{5, "first", false}, second{6, "second", false};
    EXPECT_TRUE(post("/poll", to_json(HostPoll{first, 1, 0, 0, {}, false})).good());
    EXPECT_EQ(post("/poll", to_json(HostPoll{second, 1, 0, 0, {}, false})).status, 409U);
    EXPECT_TRUE(post("/poll", to_json(HostPoll{first, 2, 0, 0, {}, true})).good());
    EXPECT_TRUE(post("/poll", to_json(HostPoll{second, 1, 0, 0, {}, false})).good());
    EXPECT_EQ(post("/poll", to_json(HostPoll{{7, "third", false}, 1, 0, 0, {}, false})).status, 409U) << "it speaks";
}

TEST_F(HostAgentTest, AnOrderThatAPollHasOvertakenStartsNothing) {
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

TEST_F(HostAgentTest, APollThatComesLateChangesNothing) {
    start_agent();
    const Commander who{5, "one", false};
    EXPECT_TRUE(post("/poll", to_json(HostPoll{who, 2, 0, 12, {12}})).good());
    EXPECT_EQ(post("/poll", to_json(HostPoll{who, 1, 0, 12, {}})).status, 409U);
    EXPECT_TRUE(
        post("/processes", to_json(ProcessOrder{who, "ros-1", 12, {"weir", "readout", "p", "--name", "ros-1"}, ""}))
            .good());
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

TEST_F(HostAgentTest, RunControlThatStoodStillHearsNoSilence) {
    start_agent();
    lost_after = 2s;
    start_launcher();
    const auto process = launch();
    ASSERT_TRUE(eventually([&] { return process->announcement().has_value(); }));
    std::this_thread::sleep_for(lost_after + 100ms);
    launcher->step();
    EXPECT_FALSE(process->ended()) << "nobody was asked meanwhile";
}

TEST_F(HostAgentTest, ARunControlThatTakesOverAdoptsWhatRuns) {
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

TEST_F(HostAgentTest, ACallOfASupersededRunControlDoesNotReachAStation) {
    start_agent();
    start_launcher();
    const auto process = launch();
    ASSERT_TRUE(eventually([&] { return process->announcement().has_value(); }));
    const auto answer = post("/stations/ros-1/transition?epoch=1", R"({"name":"configure"})");
    EXPECT_EQ(answer.status, 409U);
    EXPECT_THAT(answer.error(), HasSubstr("superseded: one commands h1 now"));
    EXPECT_EQ(post("/stations/ros-9/transition", "{}").error(), "h1 runs no station \"ros-9\"; there are ros-1");
}

TEST_F(HostAgentTest, WithoutRunControlStationsEndProperly) {
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

TEST_F(HostAgentTest, OneThatAnEngineHasStartedIsOverWithItsRunControlOrWithoutOne) {
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
