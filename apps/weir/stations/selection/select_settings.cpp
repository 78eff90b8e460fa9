// SPDX-License-Identifier: Apache-2.0
#include "stations/selection/select_settings.hpp"

#include <utility>

namespace weir::app {

using namespace std::chrono_literals;

void SelectSettings::declare(service::Settings& settings, const std::string& section) {
    plugin_.declare(settings, section);
    settings.add(section, "workers", options_.workers, "threads (or processes) that run the selection")
        .at_least(1)
        .at_most(1024);
    settings
        .add(section, "depth", options_.depth,
             "events in the unit for each worker: one more is asked for while one is computed")
        .at_least(1)
        .at_most(64);
    settings
        .add(section, "data_timeout", options_.collector.time_limit,
             "after this the selection gets the event without what is missing")
        .at_least(1ms);
    settings
        .add(section, "reask_min", options_.collector.reask_min,
             "shortest wait before a re-request to a readout; follows the measured round trips")
        .at_least(10us);
    settings.add(section, "reask_max", options_.collector.reask_max, "longest wait before a re-request to a readout")
        .at_least(1ms);
    settings
        .add(section, "not_yet_wait", options_.collector.not_yet_wait,
             "before a re-request to a readout that does not have the event yet; doubles")
        .at_least(10us);
    settings.add(section, "results_to", options_.results_to,
                 "readout that takes level-2 results; empty: the one with source = \"level2\", if there is one");
    settings.add(section, "memory", memory_, "of messages that come in several datagrams").at_least(1_MiB);
    loop_.declare(settings, section);
}

Result<selection::UnitStationOptions> SelectSettings::to_options(const StationPlace& place) const {
    const auto spec = WEIR_TRY(plugin_.to_spec());
    selection::UnitStationOptions options;
    options.name = place.name;
    options.id = place.id;
    options.unit = options_;
    options.selection = spec;
    options.loop = WEIR_TRY(loop_.options(place));
    options.link = loop_.link(place);
    options.memory = memory_;
    if (options_.collector.reask_min > options_.collector.reask_max)
        return fail(Errc::usage, "reask_min is longer than reask_max");
    return options;
}

Result<> SelectSettings::check(const StationPlace& place) const {
    WEIR_TRY(to_options(place));
    return place.elsewhere ? Result<>{} : selection::Selection::check(plugin_.spec.selection);
}

Result<std::unique_ptr<service::Station>> SelectSettings::make(const StationPlace& place,
                                                               const service::StationServices& services) {
    auto options = WEIR_TRY(to_options(place));
    options.loop.report = services.reports.reporter();
    return std::make_unique<selection::UnitStation>(std::move(options), services.reports.reporter(), services.clock);
}

}  // namespace weir::app
