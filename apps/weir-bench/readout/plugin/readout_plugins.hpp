// SPDX-License-Identifier: Apache-2.0
// Fragments that plug-ins of a readout make, in its process or in one of their own, into its buffers, cleared and not
// built; each beside a loop that takes the same over the same way and copies it once.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "readout/measured/input_measure.hpp"
#include "weir/base/result.hpp"
#include "weir/readout/readout_station.hpp"

namespace weir::app {

/// A readout whose fragments come from the plug-in "plug-in", "plug-in in a process" or "plug-in in Python": of this
/// size from now on, also in plug-ins that were made before.
[[nodiscard]] readout::ReadoutStationOptions plugin_readout(std::string_view plugin, std::uint32_t fragment_size,
                                                            std::vector<SourceId> sources);
[[nodiscard]] bool has_python();

struct PluginInput {
    using Measure = Result<InputFigures> (*)(std::uint32_t fragment_size, std::chrono::milliseconds time);
    const char* name;
    const char* bare_name;
    const char* ratio;  // the name of its row
    Measure measure, measure_bare;
};

/// All that this machine can run: without /usr/bin/python3 those in Python are left out, which is said on stderr.
[[nodiscard]] std::vector<PluginInput> plugin_inputs();

}  // namespace weir::app
