// SPDX-License-Identifier: Apache-2.0
// An agent and a run control's launcher with real processes, which are shell scripts that announce themselves as
// stations do, and a control port that answers for all of them.
#pragma once

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>

#include "hosts/host_messages.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/control/host_agent.hpp"
#include "weir/control/host_launcher.hpp"
#include "weir/json/parse.hpp"
#include "weir/service/control_client.hpp"

namespace weir::control {

using namespace std::chrono_literals;

class HostAgentTest : public testing::Test {
protected:
    static constexpr std::chrono::seconds patience{120};

    HostAgentTest() {
        std::string pattern = testing::TempDir() + "agent-XXXXXX";
        folder = ::mkdtemp(pattern.data());
        const auto hold = [this](const service::HttpRequest&, const service::HttpAnswer& answer) {
            const std::scoped_lock lock(mutex);
            held.push_back(answer);
        };
        port.emplace(std::move(
            *service::HttpServer::start({}, {{service::HttpRoute::Method::get, "/status",
                                              [this](const service::HttpRequest&, const service::HttpAnswer& answer) {
                                                  ++asked;
                                                  answer({.status = 200, .body = status()});
                                              }},
                                             {service::HttpRoute::Method::get, "/files", hold},
                                             {service::HttpRoute::Method::get, "/events", hold},
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

}  // namespace weir::control
