// SPDX-License-Identifier: Apache-2.0
#include "stations/selection/filter_settings.hpp"

#include <utility>

#include "stations/frame/setting_checks.hpp"

namespace weir::app {

using namespace std::chrono_literals;

void FilterSettings::declare(service::Settings& settings, const std::string& section) {
    plugin_.declare(settings, section);
    settings
        .add(section, "listen", listen_,
             "address and port that builders send to; empty: 127.0.0.1:0, or the machine's address in [network] data")
        .each(check_listen);
    settings.add(section, "workers", options_.workers, "threads (or processes) that run the selection")
        .at_least(1)
        .at_most(1024);
    settings.add(section, "streams", streams_, "of wanted events that have none from the selection and came with none")
        .each(check_stream);
    settings.add(section, "stamp_tags", options_.stamp_tags,
                 "true: the tags also go into the event's header (format 5.0), which is then another than was built");
    settings.add(section, "memory", memory_, "of events in hand; builders wait beyond it").at_least(1_MiB);
    settings.add(section, "queue_max", options_.queue_max, "events that wait for a worker").at_least(1);
    settings.add(section, "recorder_window", options_.recorder_window, "sent to one recorder and not answered")
        .at_least(1_MiB);
    settings
        .add(section, "move_after", options_.move_after,
             "a recorder that is away for so long is lost: its events go to the others, if there are any")
        .at_least(1ms);
    settings.add(section, "receivers", options_.receiver.threads, "threads that receive; 0: one a core, at most 4")
        .at_most(256);
}

Result<selection::FilterStationOptions> FilterSettings::to_options(const StationPlace& place) const {
    const auto spec = WEIR_TRY(plugin_.to_spec());
    selection::FilterStationOptions options;
    options.id = place.id;
    options.selection = spec;
    options.memory = memory_;
    options.filter = options_;
    options.filter.name = place.name;
    options.filter.format = place.partition.format();
    options.filter.receiver.listen = WEIR_TRY(place.listen(listen_));
    options.filter.receiver.tls = options.filter.recorder_tls = place.partition.data_tls();
    for (const auto& stream : streams_) {
        auto tag = WEIR_TRY(parse_stream_key(stream));
        options.filter.tags.push_back(std::move(tag));
    }
    if (options.filter.tags.empty())
        return fail(Errc::usage, "streams is empty: an event without a stream cannot be recorded");
    return options;
}

Result<> FilterSettings::check(const StationPlace& place) const {
    WEIR_TRY(to_options(place));
    return place.elsewhere ? Result<>{} : selection::Selection::check(plugin_.spec.selection);
}

Result<std::unique_ptr<service::Station>> FilterSettings::make(const StationPlace& place,
                                                               const service::StationServices& services) {
    auto options = WEIR_TRY(to_options(place));
    auto station = std::make_unique<selection::FilterStation>(std::move(options), services.reports.reporter(),
                                                              services.timers, services.clock);
    station->sample_into(&services.samples);
    return station;
}

}  // namespace weir::app
