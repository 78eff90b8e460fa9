// SPDX-License-Identifier: Apache-2.0
// Which front-end a readout runs, and how.
#pragma once

#include <cstdint>
#include <string>

#include "weir/base/result.hpp"
#include "weir/plugin/plug_in_spec.hpp"

namespace weir::readout {

/// Where NAME.so runs. NAME.py always runs in a process.
enum class FrontEndRuns : std::uint8_t {
    thread,   // of the readout: costs least; a crash ends the readout, a hang is reported
    process,  // of its own: a crash or a hang ends it, and it is started again
};

struct FrontEndSpec : plugin::PlugInSpec {
    FrontEndRuns runs = FrontEndRuns::thread;
    std::uint32_t triggers_max = 4096;  // that wait to be read out; more are lost, and counted

    /// Whether it is named as one that can be one: enough for a readout on another machine. Errc::usage.
    [[nodiscard]] static Result<> check_name(const std::string& file);
    /// Whether `file` is there, and of a kind that can be one. Loads nothing. Errc::usage.
    [[nodiscard]] static Result<> check(const std::string& file);
};

}  // namespace weir::readout
