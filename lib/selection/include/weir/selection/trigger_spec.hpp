// SPDX-License-Identifier: Apache-2.0
// Where a supervisor's triggers come from, as a partition file names it: `source` of [supervise.NAME].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::selection {

enum class TriggerKind : std::uint8_t {
    made,      // "made": as fast as they are taken, or at a rate
    file,      // "file": the same, with the headers of a raw file's events in turn
    periodic,  // "periodic:100Hz": by the clock, at equal intervals
    random,    // "random:1kHz": by the clock, at exponential intervals
    network,   // "network": a trigger unit outside brings them
    plug_in,   // "plug-in:NAME.so": code that reads a trigger unit, which the supervisor runs
    first,     // "first:0x420000": an event begins when a fragment of that source arrives at its readout
};

struct TriggerSpec {
    TriggerKind kind = TriggerKind::made;
    SourceId source{};   // of first
    std::string file{};  // of plug_in
    double rate = 0;     // a second: of periodic and random, and of made and file, where 0 is as fast as they are taken
};

/// Reads `source`. Errc::usage: it is none; the error names those that there are.
[[nodiscard]] Result<TriggerSpec> parse_trigger_spec(std::string_view text);

}  // namespace weir::selection
