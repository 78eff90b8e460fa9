// SPDX-License-Identifier: Apache-2.0
// `weir record`: the recorder as a station. It runs until SIGTERM or SIGINT, then drains, closes every
// file and ends with 0.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/output.hpp"
#include "cli/process/open_files.hpp"
#include "cli/progress.hpp"
#include "files/recover.hpp"
#include "stations/alone/station_alone.hpp"
#include "stations/frame/station_process.hpp"
#include "stations/recorder/commands.hpp"
#include "stations/recorder/recorder_settings.hpp"
#include "stations/recorder/recorder_station.hpp"
#include "weir/control/lone_page.hpp"
#include "weir/recorder/recorder.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* weir_record = "weir record";

struct RecordOptions : AloneOptions {
    RecorderSettings settings;
    bool recover = false;
};

json::object summary_json(const recorder::RecorderSummary& summary) {
    json::object rejected, events_rejected;
    for (const auto& [reason, count] : summary.copies_rejected) rejected[reason] = count;
    for (const auto& [reason, count] : summary.events_rejected) events_rejected[reason] = count;
    json::array streams;
    for (const auto& stream : summary.streams) {
        streams.push_back({{"name", stream.name},
                           {"copies", stream.copies.stored},
                           {"bytes", stream.copies.bytes_stored},
                           {"files", stream.files}});
    }
    return {
        {"run", number(summary.run)},
        {"events",
         {{"received", summary.receiver.received},
          {"acknowledged", summary.receiver.acknowledged},
          {"rejected", events_rejected}}},
        {"copies", {{"received", summary.copies_received}, {"stored", summary.copies_stored}, {"rejected", rejected}}},
        {"bytes_stored", summary.bytes_stored},
        {"files", summary.files},
        {"streams", streams},
        {"seconds", std::chrono::duration<double>(summary.running).count()}};
}

std::uint64_t total(const std::map<std::string, std::uint64_t>& by_reason) {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : by_reason) sum += count;
    return sum;
}

std::string status_line(const recorder::RecorderSummary& now, const recorder::RecorderSummary& before) {
    const auto seconds = std::chrono::duration<double>(now.running - before.running).count();
    const auto rejected = total(now.events_rejected);
    return fmt::format("run {}  {} connections  {} events{}  {:.2f} GB/s  {} stored in {} files  {} free{}",
                       number(now.run), now.receiver.connections, with_commas(now.receiver.received),
                       rejected > 0 ? fmt::format("  {} rejected", with_commas(rejected)) : "",
                       gb_per_s(now.bytes_stored - before.bytes_stored, seconds), human(Bytes{now.bytes_stored}),
                       now.files, human(now.free_space),
                       now.paused              ? "  PAUSED: no disk takes events"
                       : now.waits_for_closing ? "  WAITS: too many files are to be closed"
                                               : "");
}

/// Until a signal comes: disks that fail or are full make the recorder wait, not end.
void watch(const RecorderStation& station, StationProcess& process) {
    const auto& manager = process.manager;
    ProgressLine line(process.clock);
    WritePathWatch write_path;
    auto before = station.summary();
    while (!process.signals.wait(500ms)) {
        const auto now = station.summary();
        if (write_path.alive(now)) manager.alive();
        if (now.running - before.running < 1s) continue;
        const auto status = status_line(now, before);
        manager.status(status);
        if (line.due()) line.show(status);
        before = now;
    }
}

/// The way down. The service manager waits as long as the stop is alive.
Result<> end(service::StationFrame& frame, const RecorderStation& station, const ServiceManager& manager) {
    manager.stopping();
    const std::jthread alive([&](const std::stop_token& stopped) {
        WritePathWatch write_path;
        std::mutex mutex;
        std::condition_variable_any changed;
        std::unique_lock lock(mutex);
        do {
            if (!write_path.alive(station.summary())) continue;
            manager.alive();
            manager.extend(30s);
        } while (!changed.wait_for(lock, stopped, 2s, [&] { return stopped.stop_requested(); }));
    });
    return frame.wind_down(as_long_as_it_takes);
}

/// Connections may not take the descriptors that files need: a sender is refused sooner than a file cannot be opened.
void keep_descriptors_for_files(recorder::RecorderOptions& options) {
    constexpr std::uint64_t for_files = 1024;
    auto& connections = options.receiver.connections_max;
    const auto allowed = allow_open_files(connections + for_files);
    const auto most = std::max<std::uint64_t>(allowed - std::min(for_files, allowed * 3 / 4), 1);
    if (connections <= most) return;
    complain(weir_record, fmt::format("this process may have {} files open, so at most {} connections are taken and "
                                      "not {}; raise the limit (ulimit -n)",
                                      allowed, most, connections));
    connections = static_cast<std::uint32_t>(most);
}

void report_start(const recorder::RecorderOptions& options, const recorder::Recorder& recorder,
                  const std::string& metrics, bool plain) {
    if (!options.sync) complain(weir_record, "sync is OFF: events are acknowledged without being on stable storage");
    complain(weir_record, fmt::format("run {}{}, listening on port {}{}, metrics on {}, mode {}, memory {}",
                                      number(recorder.run()), recorder.continued() ? " (continued)" : "",
                                      recorder.port(), options.receiver.tls.any() ? " with TLS" : "",
                                      metrics.empty() ? "none" : "port " + metrics.substr(metrics.rfind(':') + 1),
                                      name(options.mode), to_string(options.memory)));
    if (const auto page = page_address(metrics, options.receiver.tls.any() && !plain); !page.empty())
        complain(weir_record, "the page is at " + page);
    for (const auto& volume : recorder.volumes()) complain(weir_record, "writing to " + volume);
}

int run_record(RecordOptions& options) {
    if (options.in_partition()) {
        options.station.directories = options.settings.directories;
        options.station.create = options.settings.options.create_directories;
        options.station.json = options.json;
        const auto& s = options.settings;
        options.station.tls = {s.tls_certificate, s.tls_key, s.tls_ca};
        RecorderStationSettings settings;
        return run_in_partition(weir_record, StationKind::record, options,
                                {"--dir", "--create", "--tls-certificate", "--tls-key", "--tls-ca"}, settings);
    }
    service::Settings table;
    options.settings.declare(table);
    if (auto read = read_config(table, options); !read) return fail_with(weir_record, read.error());
    if (options.print_config) return print(table.effective()), exit_good;
    if (options.settings.directories.empty())
        return fail_usage(weir_record, "no directory to record into; name one with --dir");
    auto recorder_options = options.settings.to_options();
    if (!recorder_options) return fail_with(weir_record, recorder_options.error());
    if (options.recover)
        return recover_directories_of(recorder_options->directories, recorder_options->recorder,
                                      recorder_options->catalogue, options.json);

    keep_descriptors_for_files(*recorder_options);
    const auto& name = options.settings.options.recorder;
    control::LogBook log;
    StationProcess process(name, 0, control::log_book_sink(log), log_options(options.log_format));
    RecorderStation station(*recorder_options, name, wire::StationId{1}, process.services,
                            options.settings.stop_deadline);
    control::LonePage page({.name = name,
                            .kind = StationKind::record,
                            .status = [&station] { return station.status(); },
                            .catalogues = {catalogue_file(*recorder_options)}},
                           log, process.reports, process.timers, process.clock);
    const auto frame =
        start_alone(station, name, StationKind::record,
                    {options.settings.metrics, recorder_options->receiver.tls, options.settings.plain, page.routes()},
                    process.services);
    if (!frame) return fail_with(weir_record, frame.error());
    process.log->set_run(station.summary().run);
    process.report_latched(weir_record);
    report_start(*recorder_options, station.recorder(), (*frame)->control_address(), options.settings.plain);

    process.manager.ready();
    watch(station, process);
    const auto stopped = end(**frame, station, process.manager);
    const auto summary = station.summary();
    if (options.json) {
        print_json(summary_json(summary));
    } else {
        print("run {}: {} received, {} rejected; {} stored in {}, {} rejected; {} in {:.1f} s\n", number(summary.run),
              counted(summary.receiver.received, "event"), with_commas(total(summary.events_rejected)),
              counted(summary.copies_stored, "copy", "copies"), counted(summary.files, "file"),
              with_commas(total(summary.copies_rejected)), human(Bytes{summary.bytes_stored}),
              std::chrono::duration<double>(summary.running).count());
    }
    if (!stopped) return fail_with(weir_record, stopped.error());
    return exit_good;
}

}  // namespace

void add_record(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<RecordOptions>();
    auto& s = options->settings;
    auto& command =
        add_command(parent, group_record, "record", "records the events of one run: TCP in, verified files out",
                    "weir record --listen localhost:9000 --dir /data1 --dir /data2 --create");
    auto& given = options->given;
    given.push_back(&add_value(command, "--listen", s.listen, "H:P", "for senders; port 0: any free one"));
    given.push_back(&add_value(command, "--dir", s.directories, "D", "where files go; once for each disk"));
    given.push_back(&add_flag(command, "--create", s.options.create_directories,
                              "take new directories into use; make those that are not there"));
    given.push_back(&add_value(command, "--run", s.run, "N", "run number; 0: one still open, or a new one"));
    given.push_back(&add_choice(command, "--mode", s.mode,
                                {{"receipt", std::string("receipt")},
                                 {"original", std::string("original")},
                                 {"parallel", std::string("parallel")},
                                 {"off", std::string("off")}},
                                "how checksums are made"));
    given.push_back(&add_choice(
        command, "--check", s.check,
        {{"none", std::string("none")}, {"header", std::string("header")}, {"fragments", std::string("fragments")}},
        "how deep events are checked"));
    given.push_back(
        &add_value(command, "--memory", s.options.memory, "SIZE", "for events and blocks; full: senders wait"));
    given.push_back(&add_value(command, "--metrics", s.metrics, "H:P", "address and port for Prometheus"));
    auto& version = add_value(command, "--file-version", s.file_version, "6|2", "of files; 0: 2 for event 3.0, else 6");
    auto& file_size =
        add_value(command, "--file-size-max", s.options.file_size_max, "SIZE", "a file ends at this size");
    auto& files = add_value(command, "--files-per-stream", s.options.files_per_stream, "N",
                            "of a stream open at once, each on another disk");
    auto& sync_interval = add_value(command, "--sync-interval", s.options.sync_interval, "TIME",
                                    "longest wait for a sync and its answer");
    auto& project = add_value(command, "--project", s.options.project, "NAME", "project in file names");
    auto& name = add_value(command, "--recorder", s.options.recorder, "NAME", "this recorder's name in file names");
    auto& event_max =
        add_value(command, "--event-max", s.options.receiver.event_size_max, "SIZE", "largest event that is taken");
    for (auto* option : {&version, &file_size, &files, &sync_interval, &project, &name, &event_max}) {
        option->group(more_options);
        given.push_back(option);
    }
    auto& certificate =
        add_value(command, "--tls-certificate", s.tls_certificate, "F", "PEM; senders must use TLS and show one too");
    auto& key = add_value(command, "--tls-key", s.tls_key, "F", "PEM: the key of that certificate");
    auto& authority = add_value(command, "--tls-ca", s.tls_ca, "F", "PEM: the authority of the senders' certificates");
    auto& plain = add_flag(command, "--plain", s.plain, "no TLS, although other machines reach the address");
    auto& catalogue =
        add_value(command, "--catalogue", s.options.catalogue, "URI", "postgresql://...: shared by several recorders");
    for (auto* option : {&certificate, &key, &authority, &plain, &catalogue}) {
        option->group(more_options);
        given.push_back(option);
    }
    add_flag(command, "--recover", options->recover, "closes what a crash left open, as a start does, and ends")
        .group(more_options);
    declare_alone(command, StationKind::record, *options);
    command.callback([options, &chosen] { chosen = [options] { return run_record(*options); }; });
}

}  // namespace weir::app
