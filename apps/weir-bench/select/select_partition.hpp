// SPDX-License-Identifier: Apache-2.0
// A partition for measuring a processing unit: supervisor and unit as they are, around them a readout with data that
// come a given time after they were asked for, and a DFM that has room for everything.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "weir/base/result.hpp"

namespace weir::app {

struct SelectCase {
    std::uint32_t workers = 1;
    std::uint32_t depth = 1;
    std::chrono::nanoseconds latency{0};
    std::string selection = "busy:50us";
    std::uint32_t steps = 0;  // more than 0: in place of `selection`, one that requests two further ROBs so often
};

struct SelectFigures {
    double events_per_s = 0;
    double cpu_per_event = 0;     // seconds, of the unit's threads
    double decision_seconds = 0;  // from giving an event to its verdict
};

/// The built-in selection that requests two ROBs in each of so many steps.
[[nodiscard]] std::string selection_in_steps(std::uint32_t steps);

[[nodiscard]] Result<SelectFigures> measure_select(const SelectCase& what, std::chrono::milliseconds time);

}  // namespace weir::app
