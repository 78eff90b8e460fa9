// SPDX-License-Identifier: Apache-2.0
// Which plug-in a station runs, and how: what all kinds of plug-ins that live as long as a run have in common.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "weir/base/system_clock.hpp"

namespace weir::plugin {

struct PlugInSpec {
    std::string file{};                             // NAME.so or NAME.py
    std::chrono::milliseconds time_limit{5000};     // for one call; one that takes longer hangs
    std::chrono::milliseconds start_limit{10'000};  // to load the file, and once more for begin_run
    std::chrono::microseconds poll_interval{1000};  // after a poll() that sent nothing
    std::chrono::milliseconds restart_first{100};   // before a process that died is started again; doubles up to
    std::chrono::milliseconds restart_last{2000};
    std::filesystem::path python = "/usr/bin/python3";
    std::filesystem::path programs{};      // where the worker's program is; empty: beside this program
    const Clock* clock = &system_clock();  // outlives all that is made of this
};

}  // namespace weir::plugin
