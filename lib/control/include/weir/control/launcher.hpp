// SPDX-License-Identifier: Apache-2.0
// How a station's process comes to be, is watched and is ended. Narrow, so that processes may as well run on other
// machines: a launcher is given a command line, and what it makes announces itself with one line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.hpp"

namespace weir::control {

struct LaunchRequest {
    std::string name;                    // of the station
    std::vector<std::string> arguments;  // the program first
    std::filesystem::path log;           // its stderr is appended
};

struct ProcessEnd {
    int code = 0;    // unless a signal ended it
    int signal = 0;  // 0: none

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
};

class Launcher {
public:
    virtual ~Launcher() = default;
    [[nodiscard]] virtual Result<std::unique_ptr<LaunchedProcess>> launch(const LaunchRequest& request) = 0;
};

}  // namespace weir::control
