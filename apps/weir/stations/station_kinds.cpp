// SPDX-License-Identifier: Apache-2.0
#include "stations/station_kinds.hpp"

#include "stations/building/assigner_settings.hpp"
#include "stations/building/builder_settings.hpp"
#include "stations/building/readout_settings.hpp"
#include "stations/handoff/handoff_station.hpp"
#include "stations/monitor/monitor_settings.hpp"
#include "stations/recorder/recorder_station.hpp"
#include "stations/selection/filter_settings.hpp"
#include "stations/selection/select_settings.hpp"
#include "stations/selection/supervise_settings.hpp"

namespace weir::app {

std::unique_ptr<StationSettings> settings_of(StationKind kind) {
    switch (kind) {
        case StationKind::supervise: return std::make_unique<SuperviseSettings>();
        case StationKind::select: return std::make_unique<SelectSettings>();
        case StationKind::filter: return std::make_unique<FilterSettings>();
        case StationKind::readout: return std::make_unique<ReadoutSettings>();
        case StationKind::assign: return std::make_unique<AssignerSettings>();
        case StationKind::build: return std::make_unique<BuilderSettings>();
        case StationKind::record: return std::make_unique<RecorderStationSettings>();
        case StationKind::handoff: return std::make_unique<HandOffStationSettings>();
        case StationKind::monitor: return std::make_unique<MonitorSettings>();
    }
    return nullptr;
}

}  // namespace weir::app
