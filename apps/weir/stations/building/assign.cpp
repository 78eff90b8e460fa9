// SPDX-License-Identifier: Apache-2.0
// `weir assign`: the data flow manager (DFM) of a partition.
#include <memory>

#include "stations/building/assigner_settings.hpp"
#include "stations/building/commands.hpp"

namespace weir::app {

void AssignerSettings::declare(service::Settings& settings, const std::string& section) {
    loop_.declare(settings, section);
    settings
        .add(section, "events_max", options_.events_max, "decided and not final: what the supervisor has credit for")
        .at_least(1);
    settings.add(section, "clear_group", options_.clear_group, "events in one message to a readout")
        .at_least(1)
        .at_most(std::int64_t{wire::clear_events_max});
    settings.add(section, "clear_interval", options_.clear_interval,
                 "longest wait before a readout is sent the events to clear");
    settings.add(section, "builds_max", options_.builds_max, "times that one event is given to a builder").at_least(1);
}

Result<> AssignerSettings::check(const StationPlace& place) const {
    WEIR_TRY(loop_.options(place));
    return {};
}

Result<std::unique_ptr<service::Station>> AssignerSettings::make(const StationPlace& place,
                                                                 const service::StationServices& services) {
    building::AssignerStationOptions options;
    options.name = place.name;
    options.id = place.id;
    options.assigner = options_;
    options.assigner.first_level1 = Level1Id{place.partition.data.first_level1_id};
    options.loop = WEIR_TRY(loop_.options(place));
    options.loop.report = services.reports.reporter();
    options.link = loop_.link(place);
    return std::make_unique<building::AssignerStation>(std::move(options), services.reports.reporter(), services.clock);
}

void add_assign(CLI::App& parent, Command& chosen) {
    add_station_command(parent, chosen, StationKind::assign, "gives events to builders, clears readouts (DFM)",
                        [] { return std::make_unique<AssignerSettings>(); });
}

}  // namespace weir::app
