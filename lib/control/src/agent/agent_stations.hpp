// SPDX-License-Identifier: Apache-2.0
// The stations that an agent has on its machine: launched, watched, asked for their status, and ended. Which of them
// are wanted is the agent's to know.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hosts/host_messages.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/control/host_agent.hpp"
#include "weir/control/local_launcher.hpp"
#include "weir/control/log_book.hpp"
#include "weir/service/control_calls.hpp"
#include "weir/service/http_server.hpp"

namespace weir::control {

/// Used by one thread; the stations end with it, because it launches them. It calls end_all() before it ends.
class AgentStations {
public:
    /// `post` gives work to that thread, from any thread. All references, and what `post` uses, outlive the calls that
    /// are under way.
    AgentStations(const HostAgentOptions& options, service::ControlCalls& calls,
                  std::function<void(std::function<void()>)> post, const Clock& clock)
        : options_(options), calls_(calls), post_(std::move(post)), clock_(clock) {}
    AgentStations(const AgentStations&) = delete;
    AgentStations& operator=(const AgentStations&) = delete;

    /// A process of that name and this generation, or of a later one, was launched.
    [[nodiscard]] bool has(const std::string& name, std::uint64_t generation) const;
    /// As soon as the process before it has ended, which is asked to; `answer` is called then, or when another order of
    /// that name comes first.
    void launch(ProcessOrder order, const service::HttpAnswer& answer);
    /// SIGTERM to the process of that generation, or SIGKILL.
    void signal(std::uint64_t generation, bool kill);
    /// Those up to `generation_last` that are not among `kept`, after a grace with SIGKILL; their names, of those that
    /// were not ending yet.
    [[nodiscard]] std::vector<std::string> end_all_but(const std::set<std::uint64_t>& kept,
                                                       std::uint64_t generation_last);
    /// Every one, with time to close what it has; their names.
    [[nodiscard]] std::vector<std::string> end_orphans();
    /// Waits for their ends; kills what is left.
    void end_all();

    /// Does what is due: reads logs, sees processes announce themselves and end, kills and launches.
    void look();
    /// Asks each for its status; `poll` is noted with the answer.
    void ask(std::uint64_t poll);
    /// None is asked now.
    [[nodiscard]] bool answered() const noexcept;
    /// Of all that were launched last. `news`: reports only where there is a new one since the last such call.
    [[nodiscard]] std::vector<HostedStatus> statuses(bool news);
    /// None runs, and none waits to be launched.
    [[nodiscard]] bool none() const noexcept;
    [[nodiscard]] const LogBook& log() const noexcept { return log_; }

    /// It runs, and has announced its control port.
    [[nodiscard]] bool reachable(const std::string& name) const;
    /// "h1 runs no station "ros-7"; there are ros-1, ros-2"
    [[nodiscard]] std::string no_station(const std::string& name) const;
    /// Sends a request to a reachable one's control port, and its answer to `answer`. At most six
    /// GETs are under way for a station, at most five of them for one path: paths that hang leave a place to others.
    /// One more is answered 503.
    void pass_on(const std::string& name, const std::string& path, const std::string& body, bool post,
                 const service::HttpAnswer& answer);

private:
    struct Hosted {
        Hosted(HostedStatus first, std::unique_ptr<LaunchedProcess> launched, std::unique_ptr<LogTail> log)
            : status(std::move(first)), process(std::move(launched)), tail(std::move(log)) {}

        HostedStatus status;
        std::unique_ptr<LaunchedProcess> process;
        std::unique_ptr<LogTail> tail;
        bool stays = false;                              // on its machine: it has files or hardware there
        std::string control{};                           // once it is announced
        std::map<std::string, std::uint32_t> reading{};  // how many of each path are under way
        bool asking = false;
        std::uint64_t asking_in = 0;          // the poll
        bool fresh = false;                   // its report was not sent yet
        std::optional<SteadyTime> kill_at{};  // it was asked to end
    };
    struct Waiting {
        ProcessOrder order;
        service::HttpAnswer answer;
    };

    void end(Hosted& hosted, std::chrono::milliseconds grace);
    void launch_waiting();
    [[nodiscard]] Result<> launch_now(const ProcessOrder& order);
    void read_log(Hosted& hosted);
    void take(const std::string& name, std::uint64_t generation, const Result<service::ControlAnswer>& answer);
    [[nodiscard]] static Result<> take_place(Hosted& hosted, const std::string& path);
    void leave_place(const std::string& name, std::uint64_t generation, const std::string& path);

    const HostAgentOptions& options_;
    service::ControlCalls& calls_;
    const std::function<void(std::function<void()>)> post_;
    const Clock& clock_;
    LocalLauncher launcher_;
    LogBook log_{20'000};    // lines
    std::string partition_;  // as it is in the file
    SteadyTime logs_read_{};
    std::map<std::string, Hosted> processes_;
    std::map<std::string, Waiting> waiting_;  // for the one before them to end
};

}  // namespace weir::control
