// SPDX-License-Identifier: Apache-2.0
// How a station's process comes to be, is watched and is ended. Narrow, so that processes may as well run on other
// machines: a launcher is given a command line, and what it makes announces itself with one line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"

namespace weir::control {

struct LaunchRequest {
    std::string name;                    // of the station
    std::vector<std::string> arguments;  // the program first
    std::filesystem::path log;           // its stderr is appended
};

struct ProcessEnd {
    int code = 0;       // unless a signal ended it
    int signal = 0;     // 0: none
    std::string why{};  // in place of both: nothing is known of its end but that its machine is lost, say

    [[nodiscard]] std::string text() const;  // "ended with code 1", "was killed by signal 9 (Killed)"
};

/// Every call returns at once. What still runs when this goes is killed, with all that it started.
class LaunchedProcess {
public:
    virtual ~LaunchedProcess() = default;
    [[nodiscard]] virtual std::int64_t pid() const noexcept = 0;
    /// The first line that it printed on stdout, once it is there.
    [[nodiscard]] virtual std::optional<std::string> announcement() = 0;
    /// How it ended, once it has. What it had started is killed then.
    [[nodiscard]] virtual std::optional<ProcessEnd> ended() = 0;
    /// SIGTERM: it shall stop by itself.
    virtual void terminate() noexcept = 0;
    /// SIGKILL, to it and all that it started.
    virtual void kill() noexcept = 0;
    /// For its machine, which is not there: it was not started yet.
    [[nodiscard]] virtual bool waits() const { return false; }
    /// As long as it waits: why, "its machine h3 is not there".
    [[nodiscard]] virtual std::string waits_for() const { return "its machine " + host() + " is not there"; }
    /// The machine on which it is, as the partition names it; empty: this one.
    [[nodiscard]] virtual std::string host() const { return {}; }
};

/// What a station writes to its log, line by line, also of processes before the present one. One thread.
class LogLines {
public:
    virtual ~LogLines() = default;
    /// What is new.
    virtual void read(const std::function<void(std::string_view line)>& line) = 0;
};

class Launcher {
public:
    virtual ~Launcher() = default;
    [[nodiscard]] virtual Result<std::unique_ptr<LaunchedProcess>> launch(const LaunchRequest& request) = 0;
    /// What a run control before this one launched by that name and left, once: it is this one's then. Nothing: there
    /// is none.
    [[nodiscard]] virtual std::unique_ptr<LaunchedProcess> adopt(const LaunchRequest& /*request*/) { return nullptr; }
    /// From now on.
    [[nodiscard]] virtual std::unique_ptr<LogLines> log_of(const LaunchRequest& request);
    /// What is due; often, by the thread that launches.
    virtual void step() {}
};

}  // namespace weir::control
