// SPDX-License-Identifier: Apache-2.0
// A level-2 processing unit as a station: its logic in a station loop (the input thread), and worker threads that
// run the selection. A worker sleeps until the data of an event are there, while others compute.
#pragma once

#include <string>

#include "weir/base/report.hpp"
#include "weir/selection/selection_unit.hpp"
#include "weir/selection/selector.hpp"
#include "weir/station/loop_station.hpp"

namespace weir::selection {

struct UnitStationOptions {
    std::string name = "l2pu-1";
    wire::StationId id{};
    UnitOptions unit{};
    SelectionSpec selection{};
    messaging::MessageLoopOptions loop{};
    messaging::LinkKind link = messaging::LinkKind::udp;
    Bytes memory{256ULL << 20};  // of messages that come in several parts
};

class UnitStation final : public station::LoopStation {
public:
    /// Reports and clock outlive the station.
    UnitStation(UnitStationOptions options, Reporter report, const Clock& clock);
};

}  // namespace weir::selection
