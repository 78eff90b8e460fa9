// SPDX-License-Identifier: Apache-2.0
#include "stations/frame/station_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "cli/output.hpp"
#include "stations/frame/sampled_object.hpp"
#include "stations/frame/station_process.hpp"
#include "weir/base/file.hpp"
#include "weir/base/suggest.hpp"
#include "weir/base/thread_trace.hpp"
#include "weir/service/station_frame.hpp"
#include "weir/transport/network.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr Bytes partition_size_max = 1_MiB;
constexpr std::size_t spans_of_a_trace = 100'000;  // of each thread: 3 MB

Result<ListedStation> find_station(std::string_view text, std::string_view file_name, StationKind kind,
                                   const std::string& wanted) {
    const auto stations = WEIR_TRY(list_stations(text, file_name));
    std::vector<std::string> names;
    for (const auto& station : stations) {
        if (station.kind != kind) continue;
        if (station.name == wanted || (wanted.empty() && std::ranges::count(stations, kind, &ListedStation::kind) == 1))
            return station;
        names.push_back(station.name);
    }
    const auto there = names.empty() ? fmt::format("it has no station of this kind")
                                     : fmt::format("it has {}", fmt::join(names, ", "));
    if (wanted.empty())
        return fail(Errc::usage,
                    fmt::format("which [{}.NAME] of {}? name it with --name; {}", name(kind), file_name, there));
    return fail(Errc::usage, fmt::format("{} has no [{}.{}]{}; {}", file_name, name(kind), wanted,
                                         did_you_mean(wanted, names), there));
}

std::string first_line(const StationPlace& place, const service::StationFrame& frame) {
    return json::serialize(json::object{
        {"station", json_text(place.name)}, {"kind", name(place.kind)}, {"control", frame.control_address()}});
}

service::StationFrameOptions frame_options(const StationPlace& place, const StationOptions& given) {
    service::StationFrameOptions options;
    options.name = place.name;
    options.kind = place.kind;
    options.id = place.id;
    options.control = given.control;
    options.access = place.partition.access(given.partition);
    options.deadline = place.partition.deadline;
    options.deadlines[service::Transition::stop] = place.partition.stop_deadline;
    if (place.kind == StationKind::build || place.kind == StationKind::filter) {  // they sample
        options.read_sample = [format = place.partition.format(), name = place.name](ConstData event) {
            return sampled_event(event, format, name);
        };
        options.tap_matches = [format = place.partition.format()](ConstData event, const service::TapWish& wish) {
            return tap_matches(event, format, wish);
        };
    }
    return options;
}

/// Until the process is asked to end; then the station's way down.
Result<> live(service::StationFrame& frame, StationProcess& process, std::chrono::milliseconds stop_deadline) {
    const auto& manager = process.manager;
    manager.ready();
    const auto signalled = [&] {
        const ScopedWait wait(WaitCause::timer);
        return process.signals.wait(50ms);
    };
    while (!signalled() && !frame.wait_for_exit(0ms)) manager.alive();
    manager.stopping();
    manager.extend(2 * stop_deadline);
    return frame.wind_down(stop_deadline);
}

/// --address: an address in numbers, in the network of the data.
Result<> check_own_address(const std::string& text, const PartitionSettings& partition) {
    const auto address = transport::parse_address(text);
    if (!address || address->unspecified())
        return fail(Errc::usage, fmt::format("--address: \"{}\" is not an address of one machine in numbers, for "
                                             "example 10.77.0.3",
                                             text));
    if (const auto network = partition.data_network(); network && !network->contains(*address))
        return fail(Errc::usage,
                    fmt::format("--address: {} is not in [network] data, {}", text, transport::to_string(*network)));
    return partition.check_reach({text, 0});
}

/// Those of the options for those of the file.
Result<> use_tls(const transport::TlsFiles& files, PartitionSettings::Security& security) {
    if (!files.any()) return {};
    if (files.certificate.empty() || files.key.empty() || files.authority.empty())
        return fail(Errc::usage, "--tls-certificate, --tls-key and --tls-ca are given together, or none of them");
    security.own_authority = false;
    security.join.clear();
    security.tls_certificate = files.certificate.native();
    security.tls_key = files.key.native();
    security.tls_ca = files.authority.native();
    return {};
}

}  // namespace

void StationSettings::declare_all(service::Settings& settings, const std::string& section) {
    settings.add(section, "host", host_, "the machine [hosts.NAME] that it begins on; empty: one for its kind");
    declare(settings, section);
}

Result<transport::HostPort> StationPlace::listen(const std::string& key) const {
    if (key.empty()) return transport::HostPort{address.empty() ? "127.0.0.1" : address, 0};
    auto where = WEIR_TRY(transport::parse_host_port(key));
    if (partition.data_network()) WEIR_TRY(partition.check_reach(where));
    return where;
}

Result<StationPlace> read_station(std::string_view text, std::string_view file_name, const ListedStation& station,
                                  StationSettings& settings, const StationOptions& options) {
    StationPlace place;
    service::Settings table;
    place.partition.declare(table);
    settings.declare_all(table, station.section());
    WEIR_TRY(table.read_text(text, file_name));
    for (auto* option : options.given) {
        if (option->count() > 0) option->run_callback();
    }
    const auto in_file = [&](const Error& error) {
        return fail(error.code, fmt::format("{}: {}", file_name, error.message()));
    };
    WEIR_TRY(use_tls(options.tls, place.partition.security));
    if (auto good = place.partition.check(); !good) return in_file(good.error());
    place.partition.use_own_authority(options.partition);
    if (!options.address.empty()) WEIR_TRY(check_own_address(options.address, place.partition));
    place.address = options.address;
    place.elsewhere = options.elsewhere;
    place.kind = station.kind;
    place.name = station.name;
    place.id = options.id != 0 ? wire::StationId{options.id} : station.id;
    place.sources = options.sources;
    place.directories = options.directories;
    if (place.directories.empty() && !place.partition.directory.empty())
        place.directories.push_back(place.partition.directory);
    place.create = options.create;
    place.events = options.events;
    if (auto good = settings.check(place); !good)
        return fail(good.error().code,
                    fmt::format("{}:{}: [{}]: {}", file_name, station.line, station.section(), good.error().message()));
    return place;
}

Result<StationPlace> read_station(StationKind kind, const StationOptions& options, StationSettings& settings) {
    const auto text = WEIR_TRY(read_text(options.partition, partition_size_max));
    const auto station = WEIR_TRY(find_station(text, options.partition.native(), kind, options.name));
    auto place = WEIR_TRY(read_station(text, options.partition.native(), station, settings, options));
    if (const auto network = place.partition.data_network(); network && place.address.empty()) {
        const auto own = WEIR_TRY(transport::own_address(*network));
        place.address = transport::host_of(own);
    }
    return place;
}

void declare_address_option(CLI::App& command, StationOptions& options) {
    add_value(command, "--address", options.address, "A",
              "this machine's, for data from other stations; else the one in [network] data")
        .group(more_options);
}

void declare_tls_options(CLI::App& command, StationOptions& options) {
    auto& tls = options.tls;
    add_value(command, "--tls-certificate", tls.certificate, "F", "PEM; instead of that in [security]")
        .group(more_options);
    add_value(command, "--tls-key", tls.key, "F", "PEM: the key of that certificate").group(more_options);
    add_value(command, "--tls-ca", tls.authority, "F", "PEM: the authority of the partition").group(more_options);
}

void declare_station_options(CLI::App& command, StationKind kind, StationOptions& options) {
    add_value(command, "--name", options.name, "NAME",
              "which station of the file this is; may be omitted for the only one of its kind");
    add_value(command, "--id", options.id, "N", "its number in the partition; 0: its place in the file");
    add_value(command, "--control", options.control, "H:P",
              "address and port for run control and Prometheus; port 0: any free one");
    if (takes_sources(kind)) add_value(command, "--source", options.sources, "FILE", "raw files to take events from");
    if (takes_events(kind)) add_value(command, "--events", options.events, "N", "how many events; else as in the file");
    add_value(command, "--trace", options.trace, "F",
              "writes what each thread did when, for ui.perfetto.dev, at the end");
    add_json_flag(command, options.json);
    declare_address_option(command, options);
    declare_tls_options(command, options);
}

int run_station(std::string_view command_name, StationKind kind, const StationOptions& options,
                StationSettings& settings) {
    const auto place = read_station(kind, options, settings);
    if (!place) return fail_with(command_name, place.error());
    StationProcess process(place->name, options.trace.empty() ? 0 : spans_of_a_trace);
    auto station = settings.make(*place, process.services);
    if (!station) return fail_with(command_name, station.error());
    Result<> ended;
    {
        const auto frame = service::StationFrame::start(**station, frame_options(*place, options), process.services);
        if (!frame) return fail_with(command_name, frame.error());
        print("{}\n", first_line(*place, **frame));
        flush_output();
        ended = live(**frame, process, place->partition.stop_deadline);
        if (options.json) print("{}\n", to_json((*frame)->report()));
    }
    station->reset();
    if (!options.trace.empty()) {
        if (auto written = write_thread_trace(process.threads, place->name, options.trace); !written)
            return fail_with(command_name, written.error());
    }
    return ended ? exit_good : fail_with(command_name, ended.error());
}

void add_station_command(CLI::App& parent, Command& chosen, StationKind kind, const std::string& description,
                         const std::function<std::unique_ptr<StationSettings>()>& make_settings) {
    const auto options = std::make_shared<StationOptions>();  // shared by the parser's callbacks and the command
    const std::shared_ptr<StationSettings> settings = make_settings();
    const std::string kind_name = name(kind);
    auto& command = add_command(parent, group_stations, kind_name, description,
                                fmt::format("weir {} partition.toml --name {}-1", kind_name, kind_name));
    add_value(command, "partition", options->partition, "PARTITION", "the partition's TOML file").required();
    declare_station_options(command, kind, *options);
    settings->declare_options(command, options->given);
    command.callback([options, settings, kind, kind_name, &chosen] {
        chosen = [options, settings, kind, kind_name] {
            return run_station("weir " + kind_name, kind, *options, *settings);
        };
    });
}

}  // namespace weir::app
