// SPDX-License-Identifier: Apache-2.0
// `weir readout`: one readout of a partition: buffers of ROBs, and the answers to those who ask for them.
#include "stations/building/commands.hpp"
#include "stations/building/readout_settings.hpp"

namespace weir::app {

void add_readout(CLI::App& parent, Command& chosen) {
    add_station_command(parent, chosen, StationKind::readout, "serves fragments of its sources by level-1 id (ROS)",
                        [] { return std::make_unique<ReadoutSettings>(); });
}

}  // namespace weir::app
