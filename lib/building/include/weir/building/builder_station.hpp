// SPDX-License-Identifier: Apache-2.0
// The builder as a station: its logic in a station loop, and an output to filters or recorders.
#pragma once

#include <string>

#include "weir/base/bytes.hpp"
#include "weir/base/report.hpp"
#include "weir/building/builder.hpp"
#include "weir/building/delivery_output.hpp"
#include "weir/service/sampled_events.hpp"
#include "weir/station/loop_station.hpp"

namespace weir::building {

struct BuilderStationOptions {
    std::string name = "sfi-1";
    wire::StationId id{};
    BuilderOptions builder{};
    messaging::MessageLoopOptions loop{};
    messaging::LinkKind link = messaging::LinkKind::udp;  // to readouts; the DFM's is the same
    DeliveryOutputOptions output{};
    Bytes memory{512ULL << 20};  // of events in hand
    bool probe = true;           // at connect: do datagrams of that size reach every peer?
    std::chrono::milliseconds probe_deadline{3000};
    service::SampledEvents* samples = nullptr;  // a built event now and then, for inspection; outlives it
};

class BuilderStation final : public station::LoopStation {
public:
    /// Reports and clock outlive the station.
    BuilderStation(BuilderStationOptions options, Reporter report, const Clock& clock);
};

}  // namespace weir::building
