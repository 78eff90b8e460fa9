// SPDX-License-Identifier: Apache-2.0
// `weir run`: all stations of a partition on this machine, with run control, in the foreground.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>

#include "cli/output.hpp"
#include "cli/process/child_process.hpp"
#include "cli/process/signals.hpp"
#include "cli/progress.hpp"
#include "run/commands.hpp"
#include "run/partition/partition_check.hpp"
#include "run/partition/run_settings.hpp"
#include "run/run_directory.hpp"
#include "run/run_place.hpp"
#include "run/run_remote.hpp"
#include "run/run_report.hpp"
#include "stations/frame/station_command.hpp"
#include "weir/control/http_links.hpp"
#include "weir/control/local_launcher.hpp"
#include "weir/control/run_service.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* command_name = "weir run";

struct RunOptions {
    std::filesystem::path partition;
    std::filesystem::path directory = "weir-run";
    std::vector<std::filesystem::path> sources;
    std::optional<std::uint64_t> events;
    std::chrono::milliseconds duration{0};
    std::string comment;
    std::string listen = "127.0.0.1:0";
    bool wait = false;
    bool json = false;
};

/// Where run control's own reports go: the log that GET /log answers with, a file, and what matters to stderr.
class RunLogSink final : public service::ReportSink {
public:
    RunLogSink(control::LogBook& book, const std::filesystem::path& file, ProgressLine& line, const Clock& clock)
        : book_(book), file_(file, std::ios::app), line_(line), clock_(clock) {}

    void show(const service::SubmittedReport& report) override {
        const auto text = one_line(report);
        const std::scoped_lock lock(mutex_);
        book_.add(clock_.wall(), "run", text);
        file_ << time_of_line(report.when) << ' ' << text << '\n' << std::flush;
        line_.print_above([&] { complain(command_name, on_terminal(report, text)); });
        if (shown_.size() < shown_max) shown_.insert(report.what);
    }
    /// It stands on the terminal already.
    [[nodiscard]] bool shown(const std::string& what) const {
        const std::scoped_lock lock(mutex_);
        return shown_.contains(what);
    }

private:
    static constexpr std::size_t shown_max = 10'000;
    /// As in the logs of the stations.
    static std::string time_of_line(WallTime when) {
        const auto seconds = std::chrono::floor<std::chrono::seconds>(when);
        const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(when - seconds).count();
        return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                           milliseconds);
    }
    /// Without "error run: ": who reads the terminal sees that it is run control.
    static std::string on_terminal(const service::SubmittedReport& report, const std::string& text) {
        const auto begin = fmt::format("{} {}: ", name(report.severity), report.who);
        return text.starts_with(begin) ? text.substr(begin.size()) : text;
    }

    mutable std::mutex mutex_;
    std::set<std::string> shown_;
    control::LogBook& book_;
    std::ofstream file_;
    ProgressLine& line_;
    const Clock& clock_;
};

control::LaunchRequest launch_of(const control::StationEntry& station, const RunOptions& options,
                                 const RunDirectory& directory) {
    control::LaunchRequest request{station.name, {}, directory.log_of(station.name)};
    auto& arguments = request.arguments;
    arguments = {ChildProcess::self(),
                 name(station.kind),
                 options.partition.native(),
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

/// Drives the partition until it is down. The thread that launches stations is this one: they end with it.
class Foreground {
public:
    Foreground(const RunOptions& options, control::RunControl& control, ProgressLine& line)
        : options_(options), control_(control), line_(line) {}

    /// A second signal waits for nothing any more.
    void drive(Signals& signals) {
        if (!control_.bring_up()) return;
        while (true) {
            control_.step();
            const auto now = control_.view();
            if (now.state == control::PartitionState::down) return;
            next(now);
            show(now);
            if (!signals.wait(20ms)) continue;
            if (interrupted_)
                return control_.abandon(
                    "interrupted twice: the stations were killed, and what they had in hand is lost");
            interrupted_ = true;
            control_.shut_down("interrupted");
        }
    }

private:
    void next(const control::PartitionView& now) {
        if (now.state == control::PartitionState::ready && !options_.wait) {
            if (now.runs > 0) {
                control_.shut_down("the run is over");
            } else if (const auto run = control_.start({options_.comment, {}});
                       !run && run.error().code != Errc::refused) {
                complain(command_name, run.error().message());
                control_.shut_down(run.error().message());
            }
        }
        if (now.state == control::PartitionState::running && options_.duration > 0ms &&
            now.seconds >= std::chrono::duration<double>(options_.duration).count())
            static_cast<void>(control_.stop("the time is over", control::Drain::complete));
    }

    void show(const control::PartitionView& now) {
        if (!line_.due()) return;
        if (now.run != before_.run || now.seconds - before_.seconds >= 1) before_ = std::exchange(last_, now);
        line_.show(now.run == RunNumber{} ? fmt::format("partition is {}", name(now.state))
                                          : progress_text(now, before_));
    }

    const RunOptions& options_;
    control::RunControl& control_;
    ProgressLine& line_;
    control::PartitionView before_, last_;
    bool interrupted_ = false;
};

int report(const RunOptions& options, const control::PartitionView& end, const std::filesystem::path& directory,
           const RunLogSink& log) {
    if (!end.last) {
        if (options.wait && !end.failure) return exit_good;  // no run was begun
        return fail_with(command_name,
                         Error{Errc::io, 0,
                               fmt::format("{}; the logs of the stations are in {}",
                                           end.failure ? "the partition did not come up" : "no run was begun",
                                           (directory / "log").native())});
    }
    if (options.json) {
        print_json(result_json(*end.last, directory));
    } else {
        print_result(*end.last, directory);
    }
    for (const auto& problem : end.last->problems) {
        if (!log.shown(problem)) complain(command_name, problem);
    }
    return end.last->good() ? exit_good : exit_bad;
}

int run_run(RunOptions& options) {
    if (options.partition.empty()) return fail_usage(command_name, "which partition? weir run PARTITION.toml");
    std::error_code failed;
    options.partition = std::filesystem::absolute(options.partition, failed);
    for (auto& source : options.sources) {
        if (!std::filesystem::exists(source, failed))
            return fail_missing(command_name, fmt::format("{} is not there", source.native()));
        source = std::filesystem::absolute(source, failed);
    }
    if (!std::filesystem::exists(options.partition, failed))
        return fail_missing(command_name, fmt::format("{} is not there", options.partition.native()));
    const auto partition = check_partition(options.partition, options.sources);
    if (!partition) return fail_with(command_name, partition.error());
    const auto settings = read_run_settings(options.partition);
    if (!settings) return fail_with(command_name, settings.error());
    const auto directory = RunDirectory::prepare(options.directory, *partition);
    if (!directory) return fail_with(command_name, directory.error());
    auto numbers = control::RunNumbers::open(directory->path());
    if (!numbers) return fail_with(command_name, numbers.error());
    control::CatalogueKeeper keeper(std::move(*numbers), directory->catalogues(),
                                    control::OpenRun(directory->path() / "run-open.json"));

    std::signal(SIGPIPE, SIG_IGN);
    Signals signals;  // before any thread begins
    const SystemClock clock;
    ProgressLine line(clock);
    control::LogBook log;
    service::Metrics metrics;
    std::vector<std::unique_ptr<service::ReportSink>> sinks;
    auto log_sink = std::make_unique<RunLogSink>(log, directory->log_of("run"), line, clock);
    const auto& shown = *log_sink;
    sinks.push_back(std::move(log_sink));
    service::Reports reports("run", clock, std::move(sinks));
    control::LocalLauncher launcher;
    control::HttpLinks links;
    control::RunControl control(
        *partition, settings->options,
        [&](const control::StationEntry& station) { return launch_of(station, options, *directory); }, launcher, links,
        keeper, reports.reporter(), log, clock);
    const auto collection = control::collect_partition(metrics, control);
    const auto server = service::HttpServer::start({.listen = options.listen},
                                                   control::run_routes({*partition, control, log, reports, metrics}));
    if (!server) return fail_with(command_name, server.error());
    const auto place = RunPlace::announce(directory->path(), server->address(), partition->name);
    if (!place) return fail_with(command_name, place.error());
    if (options.wait)
        complain(command_name, fmt::format("run control is at {}; weir run start --dir {}", server->address(),
                                           directory->path().native()));

    Foreground foreground(options, control, line);
    foreground.drive(signals);
    line.clear();
    return report(options, control.view(), directory->path(), shown);
}

}  // namespace

void add_run(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<RunOptions>();
    auto& command =
        add_command(parent, group_stations, "run", "all stations of a partition on this machine, with run control",
                    "weir run examples/replay.toml --source F --events 1000 --dir D");
    add_value(command, "partition", options->partition, "PARTITION", "the partition's TOML file");
    add_value(command, "--dir", options->directory, "D", "for recorded files, logs and run numbers");
    add_value(command, "--source", options->sources, "FILE", "raw files that readouts replay");
    add_value(command, "--events", options->events, "N", "how many; else as in the file");
    add_value(command, "--duration", options->duration, "TIME", "stops the run after it; 0s: no limit");
    add_value(command, "--comment", options->comment, "TEXT", "goes into the catalogue with the run");
    add_flag(command, "--wait", options->wait, "begins no run: weir run start does");
    add_value(command, "--listen", options->listen, "H:P", "address and port of run control").group(more_options);
    add_json_flag(command, options->json);
    add_run_remote(command, chosen);
    command.require_subcommand(0, 1);
    command.callback([options, &command, &chosen] {
        if (command.get_subcommands().empty()) chosen = [options] { return run_run(*options); };
    });
}

}  // namespace weir::app
