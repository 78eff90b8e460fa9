// SPDX-License-Identifier: Apache-2.0
#include "station_kinds.hpp"

#include "assigner_settings.hpp"
#include "builder_settings.hpp"
#include "filter_settings.hpp"
#include "readout_settings.hpp"
#include "recorder_station.hpp"
#include "select_settings.hpp"
#include "supervise_settings.hpp"

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
    }
    return nullptr;
}

}  // namespace weir::app
