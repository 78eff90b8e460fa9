// SPDX-License-Identifier: Apache-2.0
// Another program run by this one, with what it printed and what it cost.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "weir/base/result.hpp"

namespace weir::app {

class ChildProcess {
public:
    /// `arguments[0]` is the program, looked up in PATH. With `capture` its stdout is collected.
    [[nodiscard]] static Result<ChildProcess> start(const std::vector<std::string>& arguments, bool capture);

    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess();  // kills it when it was not waited for

    struct Status {
        int exit_code = -1;  // 128 + signal when it was killed
        std::string output;
        std::chrono::nanoseconds cpu{0};  // user and system
    };
    [[nodiscard]] Status wait();

    /// The path of this program itself.
    [[nodiscard]] static std::string self();

private:
    ChildProcess(pid_t pid, int output) : pid_(pid), output_(output) {}
    pid_t pid_ = -1;
    int output_ = -1;
};

}  // namespace weir::app
