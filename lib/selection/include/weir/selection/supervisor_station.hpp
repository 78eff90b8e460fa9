// SPDX-License-Identifier: Apache-2.0
// The level-2 supervisor as a station: its logic in a station loop.
#pragma once

#include <optional>
#include <string>

#include "weir/base/report.hpp"
#include "weir/selection/supervisor.hpp"
#include "weir/selection/trigger_input.hpp"
#include "weir/selection/trigger_plug_in_spec.hpp"
#include "weir/station/loop_station.hpp"

namespace weir::selection {

struct SupervisorStationOptions {
    std::string name = "l2sv";
    wire::StationId id{};
    SupervisorOptions supervisor{};
    std::optional<TriggerInput> input{};         // of TriggerKind::network, which needs it
    std::optional<TriggerPlugInSpec> plug_in{};  // of TriggerKind::plug_in, which needs it
    messaging::MessageLoopOptions loop{};
    messaging::LinkKind link = messaging::LinkKind::udp;
};

class SupervisorStation final : public station::LoopStation {
public:
    /// Reports and clock outlive the station.
    SupervisorStation(SupervisorStationOptions options, Reporter report, const Clock& clock);
};

}  // namespace weir::selection
