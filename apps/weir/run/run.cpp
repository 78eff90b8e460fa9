// SPDX-License-Identifier: Apache-2.0
// `weir run`: run control of a partition in the foreground, with all its stations, here or through agents.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <memory>

#include "cli/output.hpp"
#include "cli/process/child_process.hpp"
#include "cli/process/signals.hpp"
#include "cli/progress.hpp"
#include "files/events/event_document.hpp"
#include "host/join.hpp"
#include "host/own_tls.hpp"
#include "run/authority/authority_commands.hpp"
#include "run/authority/join_port.hpp"
#include "run/commands.hpp"
#include "run/directory/run_place.hpp"
#include "run/directory/view_port.hpp"
#include "run/notify.hpp"
#include "run/partition/certificate_check.hpp"
#include "run/partition/notify_settings.hpp"
#include "run/partition/partition_check.hpp"
#include "run/records/show_and_diff.hpp"
#include "run/run_log.hpp"
#include "run/run_remote.hpp"
#include "run/session/foreground.hpp"
#include "run/session/partition_log.hpp"
#include "run/session/run_log_sink.hpp"
#include "run/session/run_options.hpp"
#include "run/session/run_report.hpp"
#include "run/session/station_reach.hpp"
#include "run/session/taken_file.hpp"
#include "run/session/taking_over.hpp"
#include "stations/frame/station_command.hpp"
#include "stations/frame/station_process.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/control/lease_keeper.hpp"
#include "weir/control/notifications.hpp"
#include "weir/control/run_metrics.hpp"
#include "weir/control/run_page.hpp"
#include "weir/control/run_service.hpp"
#include "weir/page/further_pages.hpp"
#include "weir/service/clock_metrics.hpp"
#include "weir/service/control_client.hpp"
#include "weir/service/timers.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 100ms;                   // for machines that did not answer
constexpr auto no_run_left_patience = 5'000ms;       // for the first of them, where nothing goes on
constexpr auto notify_patience = 10s;                // at the end, for what notifiers have to send
constexpr std::uint32_t page_connections_max = 128;  // browsers open several each
constexpr std::uint32_t page_connections_per_peer_max = 64;

/// `on_hosts`: for the agent of a machine, which has a program and a partition file of its own.
control::LaunchRequest launch_of(const control::StationEntry& station, const RunOptions& options,
                                 const RunDirectory& directory, bool on_hosts) {
    control::LaunchRequest request{station.name, {}, directory.log_of(station.name)};
    auto& arguments = request.arguments;
    arguments = {on_hosts ? "weir" : ChildProcess::self(),
                 name(station.kind),
                 on_hosts ? "partition.toml" : directory.partition_file().native(),
                 "--name",
                 station.name,
                 "--id",
                 fmt::to_string(number(station.id))};
    std::ranges::copy(directory.arguments_of(station), std::back_inserter(arguments));
    if (takes_sources(station.kind)) {
        for (const auto& source : options.sources) arguments.insert(arguments.end(), {"--source", source.native()});
    }
    if (takes_events(station.kind) && options.events)
        arguments.insert(arguments.end(), {"--events", fmt::to_string(*options.events)});
    return request;
}

std::optional<service::Metrics::Collection> collect_certificate(service::Metrics& metrics,
                                                                const std::optional<service::ControlTls>& tls) {
    if (!tls) return std::nullopt;
    return metrics.collect([ends = tls->context.certificate_ends()](service::MetricSink& sink) {
        sink.gauge("weir_tls_certificate_ends_timestamp_seconds",
                   "when the certificate of a port ends, seconds since 1970", {{"port", "control"}},
                   std::chrono::duration<double>(ends.time_since_epoch()).count());
    });
}

/// Of this machine, by its name in the tz database; empty: not known.
std::string time_zone() {
    std::error_code unknown;
    const auto link = std::filesystem::read_symlink("/etc/localtime", unknown).native();
    constexpr std::string_view folder = "/zoneinfo/";
    const auto at = link.find(folder);
    return unknown || at == link.npos ? std::string() : link.substr(at + folder.size());
}

/// A run control that leaves nothing to go on with ends its lease: also one that did not come to be.
struct EndsLease {
    std::optional<control::LeaseKeeper>& lease;
    bool armed;
    ~EndsLease() {
        if (armed && lease) lease->end();
    }
};

int run_run(RunOptions& options) {
    std::optional<RunClaim> claim;
    if (options.standby || options.take_over) {
        auto taken = claim_to_take_over(options);
        if (!taken) return fail_with(weir_run, taken.error());
        claim = std::move(*taken);
        if (!claim) {
            print("nothing to take over: no run control works in {}, or it has ended properly\n",
                  options.directory.native());
            return exit_good;
        }
        options.take_over = true;
    }
    std::filesystem::path typed;
    if (options.take_over) {
        const auto left = partition_left(options.directory);
        if (left && (left->run || options.partition.empty())) typed = std::exchange(options.partition, left->file);
        const auto place = RunPlace::find(options.directory);
        options.wait = options.wait || (place && place->wait);
    }
    if (options.partition.empty()) return fail_usage(weir_run, "which partition? weir run PARTITION.toml");
    std::error_code failed;
    options.partition = std::filesystem::absolute(options.partition, failed);
    if (!std::filesystem::exists(options.partition, failed))
        return fail_missing(weir_run, fmt::format("{} is not there", options.partition.native()));
    auto record = read_partition(options);
    if (!record) return fail_with(weir_run, record.error());
    if (options.take_over) take_file_of(*record, typed, options);
    for (auto& source : options.sources) source = std::filesystem::absolute(source, failed);
    auto partition = check_partition(record->text, options.partition, options.sources);
    if (!partition) return fail_with(weir_run, partition.error());
    for (const auto& source : options.sources)
        if (partition->hosts.empty() && !std::filesystem::exists(source, failed))
            return fail_missing(weir_run, fmt::format("{} is not there", source.native()));
    if (!options.engine.empty()) {
        const auto engine = control::parse_engine_kind(options.engine);
        if (!engine)
            return fail_usage(weir_run, fmt::format("--engine {} is none; there are ssh and slurm", options.engine));
        if (partition->hosts.empty())
            return fail_usage(weir_run, "--engine: the partition has no machines, [hosts.NAME]");
        if (const auto set = control::set_engine(*partition, *engine); !set) return fail_with(weir_run, set.error());
    }
    const bool on_hosts = !partition->hosts.empty();
    const auto settings = settings_with(options, record->text);
    if (!settings) return fail_with(weir_run, settings.error());
    const auto shared = read_shared_settings(record->text, options.partition.native());
    if (!shared) return fail_with(weir_run, shared.error());
    if (options.join.empty()) options.join = shared->security.join;
    if (!options.join.empty() && !shared->security.own_authority)
        return fail_usage(weir_run,
                          "--join needs own_authority = true in [security] of the partition file: who joins "
                          "gets a certificate of that authority");
    if (const auto good = check_joins(*partition, options, *shared); !good) return fail_with(weir_run, good.error());
    if (const auto good = check_certificates(record->text, options.partition, system_clock().wall()); !good)
        return fail_with(weir_run, good.error());
    auto notifiers = read_notifiers(record->text, options.partition);
    if (!notifiers) return fail_with(weir_run, notifiers.error());
    const auto directory = RunDirectory::prepare(options.directory, record->text, *partition);
    if (!directory) return fail_with(weir_run, directory.error());
    const auto place = lease_place(record->text, options.partition.native());
    if (!place) return fail_with(weir_run, place.error());
    if (!claim) {
        auto locked = RunClaim::lock(directory->path());
        if (!locked) return fail_with(weir_run, locked.error());
        claim.emplace(std::move(*locked));
    }
    if (*place && !claim->place()) {
        const auto taken = claim->take(**place, RunClaim::How::begin, [](const auto&) { return Result<>{}; });
        if (!taken) return fail_with(weir_run, taken.error());
    }
    std::filesystem::remove(RunDirectory::result_file(directory->path()), failed);  // of a run before
    if (const auto known = control::HostMemory(control::HostMemory::file_in(directory->path())).recall(*partition);
        !known)
        return fail_with(weir_run, known.error());
    options.adopt = options.take_over && is_that_of_left(*directory, record->text);
    if (const auto written = directory->write_partition_file(record->text); !written)
        return fail_with(weir_run, written.error());
    const auto own = own_authority(*shared, directory->path());
    if (!own) return fail_with(weir_run, own.error());
    const auto access = shared->access(directory->partition_file());

    std::signal(SIGPIPE, SIG_IGN);
    Signals signals;  // before any thread begins
    const SystemClock clock;
    ProgressLine line(clock);
    control::LogBook log;
    service::LogOutput output(log_options(options.log_format, partition->name));
    service::Metrics metrics(control::run_label_sets_max);
    std::vector<std::unique_ptr<service::ReportSink>> sinks;
    auto log_sink = std::make_unique<RunLogSink>(log, directory->log_of("run"), line, clock, !output.structured());
    const auto& shown = *log_sink;
    sinks.push_back(std::move(log_sink));
    service::Reports reports("run", clock, std::move(sinks));
    std::optional<control::LeaseKeeper> lease;
    if (const auto& at = claim->place())
        lease.emplace(control::LeaseKeeperOptions{at->uri, at->partition, claim->id(), claim->name(), directory->path(),
                                                  claim->has_lease()},
                      claim->give_lease(), reports.reporter(), clock);
    EndsLease ends_lease{lease, !options.adopt};
    const auto tls = own_tls(access, reports.reporter(), clock);
    if (!tls) return fail_with(weir_run, tls.error());
    const auto certificate = collect_certificate(metrics, *tls);
    const auto clock_metrics = service::collect_clock(metrics);
    const auto calls = service::ControlCalls::start(*tls);
    if (!calls) return fail_with(weir_run, calls.error());
    const auto events = service::ControlCalls::start(*tls);
    if (!events) return fail_with(weir_run, events.error());
    const auto stations = on_hosts ? stations_on_hosts(*partition, options, *directory, *own, **calls, **events,
                                                       reports.reporter(), clock)
                                   : stations_here(**calls, **events);
    control::CatalogueKeeper keeper(std::move(claim->numbers()), directory->catalogues(stations.books_elsewhere),
                                    control::OpenRun(directory->path()), directory->path(),
                                    record_of(options, record->text));
    control::RunControl control(
        *partition, settings->options,
        [&](const control::StationEntry& station) { return launch_of(station, options, *directory, on_hosts); },
        *stations.launcher, *stations.links, keeper, reports.reporter(), log, clock);
    ChangedFile changed(options, *directory, keeper, control, record->text);
    const auto collection = control::collect_partition(metrics, {control, reports, stations.hosts, options.adopt});
    service::Timers timers(clock);
    PartitionLog partition_log(log, control, output, timers);
    control::Notifications notifications(partition->name, std::move(*notifiers),
                                         {control, reports, timers, metrics, clock});
    control::OperatorLease operator_lease(clock, reports.reporter());
    const control::RunServiceParts parts{*partition,     control,         log,
                                         reports,        metrics,         [&changed] { return changed.apply(); },
                                         stations.hosts, &operator_lease, &**calls};
    auto routes = control::run_routes(parts);
    std::optional<service::HttpRoute> further_route;
    if (!options.pages.empty()) {
        auto route = page::further_pages_route(options.pages);
        if (!route) return fail_with(weir_run, route.error());
        further_route = std::move(*route);
    }
    control::RunPage page(
        {.partition = *partition,
         .view = [&control] { return control.view(); },
         .log = log,
         .reports = reports,
         .hosts = stations.hosts,
         .lease = &operator_lease},
        {.archive = {directory->path(), directory->catalogue_files()},
         .recorders_elsewhere = on_hosts,
         .further = options.pages.empty() ? std::vector<std::string>{} : page::further_page_names(options.pages),
         .further_route = std::move(further_route),
         .zone = time_zone(),
         .contact = shared->contact,
         .describe_event = event_document,
         .tls = *tls},
        timers, clock);
    std::ranges::move(page.routes(), std::back_inserter(routes));
    timers.start();
    std::optional<service::JoinParts> join_parts;
    if (*own) {
        join_parts.emplace(join_parts_of(**own, *shared, reports.reporter(), clock));
        routes.push_back(service::renew_route(*join_parts));
    }
    const auto refused = service::report_refusals(reports.reporter(), "run");
    std::optional<ViewPort> view;
    if (!options.view.empty()) {
        auto started = ViewPort::start(options.view, directory->path(), routes, access, refused);
        if (!started) return fail_with(weir_run, started.error());
        view.emplace(std::move(*started));
    }
    const auto server = service::HttpServer::start({.listen = options.listen,
                                                    .access = access,
                                                    .refused = refused,
                                                    .connections_max = page_connections_max,
                                                    .connections_per_peer_max = page_connections_per_peer_max},
                                                   std::move(routes));
    if (!server) return fail_with(weir_run, server.error());
    std::optional<service::HttpServer> joins;
    if (!options.join.empty()) {
        auto started = serve_joins(options.join, *access, *join_parts, refused);
        if (started) joins = std::move(*started);
        else if (!options.take_over) return fail_with(weir_run, started.error());
        else  // a run that goes on matters more; its machines have their certificates
            reports.reporter().alarm("no joins",
                                     fmt::format("no machine can join: {}; end it and type --join with an address of "
                                                 "this machine",
                                                 started.error().message()));
    }
    const auto announced =
        RunPlace::announce(directory->path(), server->address(), partition->name,
                           access ? access->tls : transport::TlsFiles{}, {joins ? joins->address() : "", options.wait});
    if (!announced) return fail_with(weir_run, announced.error());
    if (options.wait || ::isatty(STDERR_FILENO) != 0)
        complain(weir_run,
                 fmt::format("run control is at {}://{} ({}{}); weir run {} --dir {}", access ? "https" : "http",
                             server->address(), access ? "TLS, listens at " + options.listen : "this machine only",
                             joins ? "; hosts join at " + joins->address() : "", options.wait ? "start" : "status",
                             directory->path().native()));

    if (view) complain(weir_run, fmt::format("whoever has this address looks at the page: {}", view->address()));

    if (options.adopt && stations.look_for_left) {
        std::error_code unknown;
        const bool run_left = std::filesystem::exists(control::OpenRun::file(directory->path()), unknown);
        bool interrupted = false;
        stations.look_for_left(run_left ? settings->options.hosts_deadline : no_run_left_patience,
                               [&] { return !(interrupted = signals.wait(look_again)); });
        if (interrupted) return fail_with(weir_run, Error{Errc::refused, 0, "interrupted before it had taken over"});
    }
    const auto superseded = [&] {
        auto by = lease ? lease->superseded() : std::nullopt;
        return by || !stations.superseded ? by : stations.superseded();
    };
    Foreground foreground(options, control, line, superseded);
    const auto driven = foreground.drive(signals);
    line.clear();
    partition_log.finish();
    notifications.finish(superseded() ? 0ms : notify_patience, [&] { return signals.wait(0ms); });
    ends_lease.armed = driven.has_value();
    if (!driven) {
        if (stations.leave && superseded()) stations.leave();
        return fail_with(weir_run, driven.error());
    }
    return report_end(options, control.view(), directory->path(), on_hosts, shown);
}

}  // namespace

void add_run(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<RunOptions>();
    auto& command = add_command(parent, group_stations, "run", "all stations of a partition, with run control",
                                "weir run examples/replay.toml --source F --events 1000 --dir D");
    add_value(command, "partition", options->partition, "PARTITION", "its TOML file, or the record of a run");
    add_value(command, "--dir", options->directory, "D", "for recorded files, logs and run numbers");
    add_value(command, "--source", options->sources, "FILE", "raw files that readouts replay").group(more_options);
    add_value(command, "--events", options->events, "N", "how many; else as in the file").group(more_options);
    add_value(command, "--duration", options->duration, "TIME", "stops the run after it; 0s: no limit")
        .group(more_options);
    add_value(command, "--comment", options->comment, "TEXT", "goes into the catalogue with the run")
        .group(more_options);
    add_value(command, "--masked", options->masked, "SOURCES",
              "masked from the begin of each run, instead of those of the file: 0x420000,0x430000 or none")
        .group(more_options);
    add_flag(command, "--wait", options->wait, "begins no run: weir run start does").group(more_options);
    add_value(command, "--listen", options->listen, "H:P", "address and port of run control").group(more_options);
    add_value(command, "--engine", options->engine, "E", "starts agents that are not there: ssh or slurm")
        .group(more_options);
    add_flag(command, "--take-over", options->take_over,
             "goes on with the stations and the run that another run control of D left")
        .group(more_options);
    add_flag(command, "--standby", options->standby, "waits until that one is gone, then --take-over")
        .group(more_options);
    add_value(command, "--join", options->join, "H:P",
              "address and port where hosts join with a token; else as in the file")
        .group(more_options);
    add_value(command, "--view", options->view, "H:P", "a port for the page where whoever has its token only looks")
        .group(more_options);
    add_value(command, "--pages", options->pages, "DIR", "further pages, static files, below /pages/")
        .group(more_options);
    declare_log_format(command, options->log_format);
    add_json_flag(command, options->json).group(more_options);
    add_run_remote(command, chosen);
    add_run_log(command, chosen);
    add_run_records(command, chosen);
    add_run_notify(command, chosen);
    add_authority_commands(command, chosen);
    add_join(command, chosen);
    command.require_subcommand(0, 1);
    command.callback([options, &command, &chosen] {
        if (command.get_subcommands().empty()) chosen = [options] { return run_run(*options); };
    });
}

}  // namespace weir::app
