// SPDX-License-Identifier: Apache-2.0
// Which trigger plug-in a supervisor runs, and how. It runs in a process of its own, in C++ too: a crash shall not end
// the supervisor, of which a partition has only one.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "weir/base/result.hpp"
#include "weir/base/system_clock.hpp"

namespace weir::selection {

struct TriggerPlugInSpec {
    std::string file{};                             // NAME.so or NAME.py
    std::chrono::milliseconds time_limit{5000};     // for one call; one that takes longer hangs
    std::chrono::milliseconds start_limit{10'000};  // to load the file, and once more for begin_run
    std::chrono::microseconds poll_interval{1000};  // after a poll() that sent nothing
    std::chrono::milliseconds restart_first{100};   // before a process that died is started again; doubles up to
    std::chrono::milliseconds restart_last{2000};
    std::filesystem::path python = "/usr/bin/python3";
    std::filesystem::path programs{};      // where weir-trigger-worker is; empty: beside this program
    const Clock* clock = &system_clock();  // outlives all that is made of this

    /// Whether `file` is there, and of a kind that can be one. Loads nothing. Errc::usage.
    [[nodiscard]] static Result<> check(const std::string& file);
};

}  // namespace weir::selection
