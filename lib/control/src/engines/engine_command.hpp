// SPDX-License-Identifier: Apache-2.0
// A command of an engine (ssh, sbatch) or of a notifier as a child process that nobody waits for: it is started, looked
// at, and killed when its time is over.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/descriptor.hpp"
#include "weir/base/result.hpp"

namespace weir::control {

/// One thread.
class EngineCommand {
public:
    enum class Environment {
        whole,   // that of this process
        narrow,  // of it only where programs and Slurm are, and whose they are: a job gets a copy, which others may see
    };
    /// `words[0]` is found in PATH. `input` is its stdin. It is a process group of its own: a Ctrl-C for run control is
    /// none for it. Errc::io: there is no such program, or no process. The clock outlives it. `variables`:
    /// "NAME=value", besides those of a narrow environment.
    [[nodiscard]] static Result<EngineCommand> start(const std::vector<std::string>& words, std::string_view input,
                                                     Environment environment, std::chrono::milliseconds deadline,
                                                     const Clock& clock, std::vector<std::string> variables = {});
    EngineCommand(EngineCommand&& other) noexcept;
    EngineCommand& operator=(EngineCommand&& other) noexcept;
    ~EngineCommand();  // kills it, with all that it started in its group

    /// What it printed on stdout, up to 16 KiB, once it has ended with code 0. The error is one line: the last that it
    /// printed on stderr, or its code; Errc::limit: it did not end in time, and was killed.
    [[nodiscard]] std::optional<Result<std::string>> ended();

private:
    EngineCommand() = default;
    void read();
    void kill() noexcept;

    std::string name_;
    pid_t pid_ = -1;  // -1: it has ended
    Descriptor out_, err_;
    std::string printed_, complained_;
    const Clock* clock_ = nullptr;
    SteadyTime until_{};
    std::chrono::milliseconds deadline_{0};
};

}  // namespace weir::control
