// SPDX-License-Identifier: Apache-2.0
// `weir supervise PARTITION.toml --name NAME`: makes events, and gives them to processing units.
#include "stations/selection/commands.hpp"
#include "stations/selection/supervise_settings.hpp"

namespace weir::app {

void add_supervise(CLI::App& parent, Command& chosen) {
    add_station_command(parent, chosen, StationKind::supervise,
                        "gives triggers to processing units, receives decisions (L2SV)",
                        [] { return std::make_unique<SuperviseSettings>(); });
}

}  // namespace weir::app
