// SPDX-License-Identifier: Apache-2.0
// Which front-end a readout runs, and how.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "weir/base/result.hpp"
#include "weir/base/system_clock.hpp"

namespace weir::readout {

/// Where NAME.so runs. NAME.py always runs in a process.
enum class FrontEndRuns : std::uint8_t {
    thread,   // of the readout: costs least; a crash ends the readout, a hang is reported
    process,  // of its own: a crash or a hang ends it, and it is started again
};

struct FrontEndSpec {
    std::string file{};  // NAME.so or NAME.py
    FrontEndRuns runs = FrontEndRuns::thread;
    std::chrono::milliseconds time_limit{5000};     // for one call; one that takes longer hangs
    std::chrono::milliseconds start_limit{10'000};  // to load the file, and once more for begin_run
    std::chrono::microseconds poll_interval{1000};  // after a poll() that sent nothing
    std::chrono::milliseconds restart_first{100};   // before a process that died is started again; doubles up to
    std::chrono::milliseconds restart_last{2000};
    std::uint32_t triggers_max = 4096;  // that wait to be read out; more are lost, and counted
    std::filesystem::path python = "/usr/bin/python3";
    std::filesystem::path programs{};      // where weir-front-end-worker is; empty: beside this program
    const Clock* clock = &system_clock();  // outlives all that is made of this

    /// Whether `file` is there, and of a kind that can be one. Loads nothing. Errc::usage.
    [[nodiscard]] static Result<> check(const std::string& file);
};

}  // namespace weir::readout
