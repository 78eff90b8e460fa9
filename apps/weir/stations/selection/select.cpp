// SPDX-License-Identifier: Apache-2.0
// `weir select PARTITION.toml --name NAME`: decides on events from some of their fragments, before they are built.
#include "stations/selection/commands.hpp"
#include "stations/selection/select_settings.hpp"

namespace weir::app {

void add_select(CLI::App& parent, Command& chosen) {
    add_station_command(parent, chosen, StationKind::select, "decides on events from a few of their fragments (L2PU)",
                        [] { return std::make_unique<SelectSettings>(); });
}

}  // namespace weir::app
