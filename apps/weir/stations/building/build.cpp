// SPDX-License-Identifier: Apache-2.0
// `weir build`: an event builder (SFI) of a partition.
#include <fmt/format.h>

#include <memory>

#include "stations/building/builder_settings.hpp"
#include "stations/building/commands.hpp"
#include "stations/frame/setting_checks.hpp"

namespace weir::app {

void BuilderSettings::declare(service::Settings& settings, const std::string& section) {
    loop_.declare(settings, section);
    settings.add(section, "events_max", options_.events_max, "in hand, until they are final downstream: its credit")
        .at_least(1);
    settings.add(section, "building_max", options_.building_max, "of these, asked for at once").at_least(1);
    settings.add(section, "memory", memory_, "for events in hand").at_least(1_MiB);
    settings.add(section, "shaping", shaping_, "bounds the bytes in flight");
    settings.add(section, "window_max", window_max_, "bytes in flight at most").at_least(4_KiB);
    settings.add(section, "window_min", window_min_, "and at least, when the network loses them").at_least(1_KiB);
    settings
        .add(section, "source_requests_max", options_.source_requests_max,
             "events that one readout is asked for at once")
        .at_least(1);
    settings.add(section, "request_events", options_.request_events, "events in one request")
        .at_least(1)
        .at_most(std::int64_t{wire::request_events_max});
    settings.add(section, "event_deadline", options_.event_deadline, "then what is missing of an event is lost");
    settings.add(section, "suspect_deadline", options_.suspect_deadline, "the same for readouts that were late before");
    settings.add(section, "reask_min", options_.reask_min, "shortest wait before a re-request");
    settings.add(section, "reask_max", options_.reask_max, "longest wait before a re-request");
    settings.add(section, "threads", threads_, "one, or a thread of its own for input that wakes the builder")
        .one_of({"one", "wake-per-batch", "wake-per-fragment"});
    settings.add(section, "probe", probe_, "at connect: do datagrams of the largest size reach every readout?");
    settings.add(section, "tag", tag_, "stream (type_name) of events that no filter tags").each(check_stream);
}

Result<> BuilderSettings::check(const StationPlace& place) const {
    if (window_min_ > window_max_)
        return fail(Errc::usage, fmt::format("window_min {} is more than window_max {}", to_string(window_min_),
                                             to_string(window_max_)));
    if (place.partition.format() == event::Format::opaque)
        return fail(Errc::usage,
                    "[data] format opaque has no fragments to build events of; choose event-5.0 or event-3.0");
    WEIR_TRY(loop_.options(place));
    return {};
}

Result<std::unique_ptr<service::Station>> BuilderSettings::make(const StationPlace& place,
                                                                const service::StationServices& services) {
    building::BuilderStationOptions options;
    options.name = place.name;
    options.id = place.id;
    options.builder = options_;
    options.builder.format = place.partition.format();
    options.builder.rules = place.partition.rules();
    options.builder.window = {.shaping = shaping_, .least = window_min_.count(), .most = window_max_.count()};
    options.loop = WEIR_TRY(loop_.options(place));
    options.loop.report = services.reports.reporter();
    options.loop.input = threads_ == "one"              ? messaging::InputThread::none
                         : threads_ == "wake-per-batch" ? messaging::InputThread::wake_per_batch
                                                        : messaging::InputThread::wake_per_datagram;
    options.link = loop_.link(place);
    options.memory = memory_;
    options.probe = probe_;
    options.output.name = place.name;
    options.output.format = wire::parse_event_format(event::name(options.builder.format)).value();
    options.output.window = memory_;
    options.output.tls = place.partition.data_tls();
    StreamTag tag;
    tag.type = tag_.substr(0, tag_.find('_'));
    tag.name = tag_.substr(tag_.find('_') + 1);
    options.output.tags = {tag};
    options.samples = &services.samples;
    return std::make_unique<building::BuilderStation>(std::move(options), services.reports.reporter(), services.clock);
}

void add_build(CLI::App& parent, Command& chosen) {
    add_station_command(parent, chosen, StationKind::build, "asks readouts for fragments, builds events (SFI)",
                        [] { return std::make_unique<BuilderSettings>(); });
}

}  // namespace weir::app
