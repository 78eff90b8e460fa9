// SPDX-License-Identifier: Apache-2.0
// `weir filter PARTITION.toml --name NAME`: decides on whole events, and sends those that are wanted to recorders.
#include "stations/selection/commands.hpp"
#include "stations/selection/filter_settings.hpp"

namespace weir::app {

void add_filter(CLI::App& parent, Command& chosen) {
    add_station_command(parent, chosen, StationKind::filter, "decides on whole events, sends them to recorders (EF)",
                        [] { return std::make_unique<FilterSettings>(); });
}

}  // namespace weir::app
