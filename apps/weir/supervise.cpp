// SPDX-License-Identifier: Apache-2.0
// `weir supervise PARTITION.toml --name NAME`: makes events, and gives them to processing units.
#include "commands.hpp"
#include "supervise_settings.hpp"

namespace weir::app {

void add_supervise(CLI::App& parent, Command& chosen) {
    add_station_command(parent, chosen, StationKind::supervise, "makes events, and gives them to processing units",
                        [] { return std::make_unique<SuperviseSettings>(); });
}

}  // namespace weir::app
