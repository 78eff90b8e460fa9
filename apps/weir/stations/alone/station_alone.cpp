// SPDX-License-Identifier: Apache-2.0
#include "stations/alone/station_alone.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stations/frame/input_settings.hpp"
#include "stations/frame/station_process.hpp"

namespace weir::app {

void declare_alone(CLI::App& command, StationKind kind, AloneOptions& options) {
    add_value(command, "--config", options.config, "FILE",
              fmt::format("TOML, section [{}]; options go before it", name(kind)));
    add_flag(command, "--print-config", options.print_config, "prints every key with its value and ends");
    add_json_flag(command, options.json);
    auto& station = options.station;
    add_value(command, "partition", station.partition, "PARTITION",
              "one station of this partition file, driven by run control");
    for (auto* option :
         {&add_value(command, "--name", station.name, "NAME",
                     fmt::format("with PARTITION: which [{}.NAME]", name(kind))),
          &add_value(command, "--id", station.id, "N", "with PARTITION: its number there; 0: its place in the file"),
          &add_value(command, "--control", station.control, "H:P", "with PARTITION: the control port; 0: any free one"),
          &add_value(command, "--trace", station.trace, "F", "with PARTITION: a timeline of the threads, at the end")})
        option->group(more_options);
    declare_address_option(command, station);
    declare_log_format(command, options.log_format);
}

Result<> read_config(service::Settings& table, const AloneOptions& options) {
    if (options.config.empty()) return {};
    WEIR_TRY(table.read_file(options.config));
    for (auto* option : options.given) {
        if (option->count() > 0) option->run_callback();
    }
    return {};
}

int run_in_partition(std::string_view command_name, StationKind kind, const AloneOptions& options,
                     std::initializer_list<std::string_view> beside, StationSettings& settings) {
    for (const auto* option : options.given) {
        if (option->count() > 0 && std::ranges::find(beside, option->get_name()) == beside.end())
            return fail_usage(command_name,
                              fmt::format("{} and a partition file do not go together; write it into [{}.NAME] of {}",
                                          option->get_name(), name(kind), options.station.partition.native()));
    }
    return run_station(command_name, kind, options.station, settings);
}

std::string page_address(const std::string& control, bool tls) {
    if (control.empty()) return {};
    return fmt::format("{}://{}", tls && !on_this_machine(control).value_or(true) ? "https" : "http", control);
}

Result<std::unique_ptr<service::StationFrame>> start_alone(service::Station& station, const std::string& name,
                                                           StationKind kind, const AlonePort& port,
                                                           const service::StationServices& services) {
    using service::Transition;
    std::optional<service::ControlAccess> access;
    if (port.tls.any() && !port.plain && !port.listen.empty() && !WEIR_TRY(on_this_machine(port.listen)))
        access = service::ControlAccess{.tls = port.tls};
    auto frame = WEIR_TRY(service::StationFrame::start(station,
                                                       {.name = name,
                                                        .kind = kind,
                                                        .id = wire::StationId{1},
                                                        .control = port.listen,
                                                        .access = std::move(access),
                                                        .plain = port.plain,
                                                        .read_only = true,
                                                        .deadlines = {{Transition::start, as_long_as_it_takes}},
                                                        .routes = port.routes,
                                                        .asker_reports = true},
                                                       services));
    for (const auto transition : {Transition::configure, Transition::connect, Transition::start}) {
        const auto answer = frame->request({.transition = transition});  // the run's number is the station's to find
        if (answer.outcome == service::StationAnswer::Outcome::done) continue;
        static_cast<void>(frame->wind_down(as_long_as_it_takes));
        return std::unexpected(answer.cause ? *answer.cause : Error{Errc::refused, 0, answer.error});
    }
    return frame;
}

}  // namespace weir::app
