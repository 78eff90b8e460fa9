// SPDX-License-Identifier: Apache-2.0
// The kinds of stations that this program has, each with its settings: the one list that `weir config` walks.
#pragma once

#include <memory>

#include "stations/frame/station_command.hpp"

namespace weir::app {

/// nullptr: this program cannot run that kind.
[[nodiscard]] std::unique_ptr<StationSettings> settings_of(StationKind kind);

}  // namespace weir::app
