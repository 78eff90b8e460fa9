// SPDX-License-Identifier: Apache-2.0
// `weir monitor PARTITION.toml --name NAME`: fills histograms from some of the events that pass.
#include "stations/monitor/commands.hpp"
#include "stations/monitor/monitor_settings.hpp"

namespace weir::app {

void add_monitor(CLI::App& parent, Command& chosen) {
    add_station_command(parent, chosen, StationKind::monitor, "fills histograms from some of the events that pass",
                        [] { return std::make_unique<MonitorSettings>(); });
}

}  // namespace weir::app
