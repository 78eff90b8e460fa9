// SPDX-License-Identifier: Apache-2.0
// The agent of a machine: starts, watches and ends stations there for a run control that is elsewhere, and passes on
// what is asked of them. It decides nothing, but for two things: of two run controls it obeys the one that came later,
// and when none has come for long it ends its stations properly.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/service/control_calls.hpp"
#include "weir/service/http_server.hpp"

namespace weir::control {

struct HostAgentOptions {
    std::string name;                      // of the machine in the partition: "h1"
    std::filesystem::path directory;       // the current one: stations find relative paths below it
    std::string program;                   // of which every station is a command
    std::vector<std::string> arguments{};  // behind those that run control gives: the addresses of this machine
    std::chrono::milliseconds orphan_after{600'000};  // without run control
    std::chrono::milliseconds gathering_max{800};     // for the stations to say how they are, within a poll
    bool ends_with_run = false;                       // an engine has started it: over() when run control has ended
};

class HostAgent {
public:
    /// `calls` reach the control ports of this machine's stations. Errc::io: the directory cannot be written; no
    /// thread.
    [[nodiscard]] static Result<std::unique_ptr<HostAgent>> start(HostAgentOptions options,
                                                                  std::unique_ptr<service::ControlCalls> calls,
                                                                  Reporter report, const Clock& clock);
    /// Ends what still runs: SIGTERM, and SIGKILL to what is there after ten seconds.
    ~HostAgent();
    HostAgent(const HostAgent&) = delete;
    HostAgent& operator=(const HostAgent&) = delete;

    /// GET /host, POST /poll, /processes, /end, /books, and everything below /stations/NAME/. The agent outlives the
    /// server.
    [[nodiscard]] std::vector<service::HttpRoute> routes();

    /// It was started with `ends_with_run`, and its run control has ended, or was not there for `orphan_after`; no
    /// station is left. Any thread.
    [[nodiscard]] bool over() const noexcept;

private:
    class Thread;
    explicit HostAgent(std::unique_ptr<Thread> thread);
    std::unique_ptr<Thread> thread_;
};

}  // namespace weir::control
