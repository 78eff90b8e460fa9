// SPDX-License-Identifier: Apache-2.0
// The data flow manager as a station: its logic in a station loop.
#pragma once

#include <string>

#include "weir/base/report.hpp"
#include "weir/building/assigner.hpp"
#include "weir/station/loop_station.hpp"

namespace weir::building {

struct AssignerStationOptions {
    std::string name = "dfm";
    wire::StationId id{};
    AssignerOptions assigner{};
    messaging::MessageLoopOptions loop{};
    messaging::LinkKind link = messaging::LinkKind::udp;
};

class AssignerStation final : public station::LoopStation {
public:
    /// Reports and clock outlive the station.
    AssignerStation(AssignerStationOptions options, Reporter report, const Clock& clock);
};

}  // namespace weir::building
