// SPDX-License-Identifier: Apache-2.0
// `weir run`: run control of a partition in the foreground, with all its stations, here or through agents.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>
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
#include "host/join.hpp"
#include "host/own_tls.hpp"
#include "run/authority/authority_commands.hpp"
#include "run/authority/own_authority.hpp"
#include "run/commands.hpp"
#include "run/partition/certificate_check.hpp"
#include "run/partition/partition_change.hpp"
#include "run/partition/partition_check.hpp"
#include "run/partition/run_settings.hpp"
#include "run/records/run_again.hpp"
#include "run/records/show_and_diff.hpp"
#include "run/run_claim.hpp"
#include "run/run_directory.hpp"
#include "run/run_place.hpp"
#include "run/run_remote.hpp"
#include "run/run_report.hpp"
#include "stations/frame/station_command.hpp"
#include "weir/base/file.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/catalogue/run_record_file.hpp"
#include "weir/control/host_engines.hpp"
#include "weir/control/host_launcher.hpp"
#include "weir/control/host_memory.hpp"
#include "weir/control/http_links.hpp"
#include "weir/control/lease_keeper.hpp"
#include "weir/control/local_launcher.hpp"
#include "weir/control/run_service.hpp"
#include "weir/service/control_client.hpp"
#include "weir/service/join_service.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* weir_run = "weir run";
constexpr auto look_again = 100ms;              // for machines that did not answer
constexpr auto no_run_left_patience = 5'000ms;  // for the first of them, where nothing goes on

struct RunOptions {
    std::filesystem::path partition;
    std::filesystem::path directory = "weir-run";
    std::vector<std::filesystem::path> sources;
    std::optional<std::uint64_t> events;
    std::chrono::milliseconds duration{0};
    std::string masked;  // empty: as in the file
    std::string comment;
    std::string listen = "127.0.0.1:0";
    bool take_over = false;
    bool adopt = false;    // what it left there
    bool standby = false;  // takes over when the run control of the directory is gone
    std::string engine;    // empty: as in the file
    std::string join;      // empty: as in the file
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
        line_.print_above([&] { complain(weir_run, on_terminal(report, text)); });
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

/// Drives the partition until it is down. The thread that launches stations is this one: they end with it.
class Foreground {
public:
    Foreground(const RunOptions& options, control::RunControl& control, ProgressLine& line,
               const std::function<std::optional<std::string>()>& superseded)
        : options_(options), control_(control), line_(line), superseded_(superseded) {}

    /// A second signal waits for nothing any more. Errc::refused: another run control has the machines; nothing of
    /// the run that goes on is this one's any more.
    Result<> drive(Signals& signals) {
        WEIR_TRY(options_.adopt ? control_.take_over() : control_.bring_up());
        while (true) {
            control_.step();
            const auto now = control_.glance();
            if (now.state == control::PartitionState::down) return {};
            if (const auto by = superseded_ ? superseded_() : std::nullopt)
                return fail(Errc::refused,
                            fmt::format("{}; this run control ends, and leaves stations and run to that one", *by));
            next(now);
            show();
            if (!signals.wait(20ms)) continue;
            if (interrupted_) {
                control_.abandon("interrupted twice: the stations were killed, and what they had in hand is lost");
                return {};
            }
            interrupted_ = true;
            control_.shut_down("interrupted");
        }
    }

private:
    void next(const control::PartitionGlance& now) {
        if (now.state == control::PartitionState::ready && !options_.wait) {
            if (now.begins_again) return;
            if (now.runs > 0) {
                control_.shut_down("the run is over");
            } else if (const auto run = control_.start({options_.comment, {}});
                       !run && run.error().code != Errc::refused) {
                complain(weir_run, run.error().message());
                control_.shut_down(run.error().message());
            }
        }
        if (now.state == control::PartitionState::running && options_.duration > 0ms &&
            now.seconds >= std::chrono::duration<double>(options_.duration).count())
            static_cast<void>(control_.stop("the time is over", control::Drain::complete));
    }

    void show() {
        if (!line_.due()) return;
        const auto now = control_.view();
        if (now.run != before_.run || now.seconds - before_.seconds >= 1) before_ = std::exchange(last_, now);
        line_.show(now.run == RunNumber{} ? fmt::format("partition is {}", name(now.state))
                                          : progress_text(now, before_));
    }

    const RunOptions& options_;
    control::RunControl& control_;
    ProgressLine& line_;
    const std::function<std::optional<std::string>()> superseded_;
    control::PartitionView before_, last_;
    bool interrupted_ = false;
};

int report(const RunOptions& options, const control::PartitionView& end, const std::filesystem::path& directory,
           bool on_hosts, const RunLogSink& log) {
    const std::string of_agents = "the --dir of the agents, on their machines";
    if (!end.last) {
        if (options.wait && !end.failure) return exit_good;  // no run was begun
        return fail_with(weir_run,
                         Error{Errc::io, 0,
                               fmt::format("{}; the logs of the stations are {}",
                                           end.failure ? "the partition did not come up" : "no run was begun",
                                           on_hosts ? "below " + of_agents : "in " + (directory / "log").native())});
    }
    const auto result = result_json(*end.last, directory);
    if (const auto written = replace_text(RunDirectory::result_file(directory), json::serialize(result), Synced::no);
        !written)
        complain(weir_run, written.error().message());
    if (options.json) {
        print_json(result);
    } else {
        print_result(*end.last, on_hosts ? of_agents : directory.native());
    }
    for (const auto& problem : end.last->problems) {
        if (!log.shown(problem)) complain(weir_run, problem);
    }
    return end.last->good() && (options.wait || end.bad_runs == 0) ? exit_good : exit_bad;
}

/// What all runs of this run control are taken with.
catalogue::RunRecord record_of(const RunOptions& options, const std::string& text) {
    std::error_code unknown;
    catalogue::RunRecord record;
    record.weir = WEIR_VERSION;
    record.file = options.partition.native();
    record.directory = std::filesystem::current_path(unknown).native();
    record.text = text;
    record.sha256 = sha256_of(text);
    for (const auto& source : options.sources) record.sources.push_back(source.native());
    record.events = options.events;
    if (options.duration > 0ms) record.duration = to_string(options.duration);
    return record;
}

/// Section [run], and what was typed.
Result<RunSettings> settings_with(const RunOptions& options, const std::string& text) {
    auto settings = WEIR_TRY(read_run_settings(text, options.partition));
    if (!options.masked.empty()) settings.options.masked = WEIR_TRY(parse_masked_option(options.masked));
    return settings;
}

/// The partition file, or the record of a run: then with what that was taken, but for what was typed. Errc::usage: the
/// text is neither.
Result<catalogue::RunRecord> read_partition(RunOptions& options) {
    auto text = WEIR_TRY(read_text(options.partition, 64_MiB));
    auto record = WEIR_TRY(record_to_take(std::move(text), options.partition));
    if (options.sources.empty()) options.sources.assign(record.sources.begin(), record.sources.end());
    if (!options.events) options.events = record.events;
    if (options.duration == 0ms && !record.duration.empty()) {
        const auto duration = WEIR_TRY(parse_duration(record.duration));
        options.duration = std::chrono::duration_cast<std::chrono::milliseconds>(duration);
    }
    if (options.masked.empty()) options.masked = masked_option(record);
    return record;
}

/// The file again, between runs: what of it counts from now on, and which stations start anew. All of it or nothing.
/// Called by one thread.
class ChangedFile {
public:
    ChangedFile(const RunOptions& options, const RunDirectory& directory, control::CatalogueKeeper& keeper,
                control::RunControl& control, std::string text)
        : options_(options), directory_(directory), keeper_(keeper), control_(control), text_(std::move(text)) {}

    [[nodiscard]] Result<control::AppliedFile> apply() {
        auto file = WEIR_TRY(read_text(options_.partition, 64_MiB));
        const auto record = WEIR_TRY(record_to_take(std::move(file), options_.partition));
        WEIR_TRY(check_partition(record.text, options_.partition, options_.sources));
        const auto settings = WEIR_TRY(settings_with(options_, record.text));
        const auto change = WEIR_TRY(change_of_partition(text_, record.text));
        if (!change.impossible.empty())
            return fail(Errc::refused, fmt::format("nothing was applied: {}; end weir run and start it again for it",
                                                   fmt::join(change.impossible, "; ")));
        const auto put = [&]() -> Result<> {
            WEIR_TRY(directory_.write_partition_file(record.text));
            keeper_.take_with(record_of(options_, record.text));
            return {};
        };
        WEIR_TRY(control_.apply(settings.options, change.anew, put));
        text_ = record.text;
        return control::AppliedFile{change.at_once, change.anew};
    }

private:
    const RunOptions& options_;
    const RunDirectory& directory_;
    control::CatalogueKeeper& keeper_;
    control::RunControl& control_;
    std::string text_;  // in effect
};

std::optional<service::Metrics::Collection> collect_certificate(service::Metrics& metrics,
                                                                const std::optional<service::ControlTls>& tls) {
    if (!tls) return std::nullopt;
    return metrics.collect([ends = tls->context.certificate_ends()](service::MetricSink& sink) {
        sink.gauge("weir_tls_certificate_ends_timestamp_seconds", "when the certificate of the control ports ends", {},
                   std::chrono::duration<double>(ends.time_since_epoch()).count());
    });
}

/// How stations are launched and reached. The launcher is last: what it ends is still reached.
struct Reached {
    std::unique_ptr<control::StationLinks> own_links{};
    std::unique_ptr<control::HostEngines> engines{};
    std::unique_ptr<control::Launcher> launcher{};
    control::StationLinks* links = nullptr;
    RunDirectory::BooksOf books_elsewhere{};
    std::function<std::vector<control::HostView>()> hosts{};
    std::function<std::optional<std::string>()> superseded{};
    std::function<void(std::chrono::milliseconds, const std::function<bool()>&)> look_for_left{};
    std::function<void()> leave{};
};

Reached stations_here(service::ControlCalls& calls, service::ControlCalls& events) {
    auto links = std::make_unique<control::HttpLinks>(calls, events);
    auto* all = links.get();
    return {std::move(links), nullptr, std::make_unique<control::LocalLauncher>(), all, {}, {}, {}, {}, {}};
}

/// Above that of every run control of the directory, and of the machines, whatever the clock says.
std::uint64_t next_epoch(const control::Partition& partition, const RunDirectory& directory,
                         service::ControlCalls& calls, const Clock& clock) {
    const auto path = directory.path() / "run-epoch";
    std::uint64_t last = 0;
    if (const auto text = read_text(path, 1_KiB)) std::from_chars(text->data(), text->data() + text->size(), last);
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(clock.wall().time_since_epoch()).count();
    const auto epoch = control::HostLauncher::next_epoch(
        partition, std::max(static_cast<std::uint64_t>(std::max<std::int64_t>(now, 0)), last + 1), calls);
    std::ofstream(path) << epoch << '\n';
    return epoch;
}

/// Only machines that join ask for one; see check_joins().
control::HostEngines::MakeToken tokens_of(const std::optional<OwnAuthority>& own, const Clock& clock) {
    if (!own) return {};
    return [&own, &clock](const std::string& host) -> Result<std::string> {
        const auto token = WEIR_TRY(service::make_join_token(own->authority().certificate().fingerprint()));
        WEIR_TRY(service::JoinTokens(own->tokens_file(), clock).add(token, host));
        return token.text();
    };
}

/// Machines that join need an authority and a port for it.
Result<> check_joins(const control::Partition& partition, const RunOptions& options, const PartitionSettings& shared) {
    for (const auto& host : partition.hosts) {
        if (host.start.join.empty() || host.start.engine == control::EngineKind::none) continue;
        if (!shared.security.own_authority || options.join.empty())
            return fail(Errc::usage,
                        fmt::format("{}:{}: [hosts.{}] joins at {}: that needs own_authority = true and join in "
                                    "[security]",
                                    partition.file.native(), host.line, host.name, host.start.join));
        if (const auto good = service::check_host_name(host.name); !good) return good;
    }
    return {};
}

Reached stations_on_hosts(const control::Partition& partition, const RunOptions& options, const RunDirectory& directory,
                          const std::optional<OwnAuthority>& own, service::ControlCalls& calls,
                          service::ControlCalls& events, const Reporter& report, const Clock& clock) {
    auto engines = std::make_unique<control::HostEngines>(partition, tokens_of(own, clock), report, clock);
    const bool has_engine = std::ranges::any_of(
        partition.hosts, [](const control::HostEntry& host) { return host.start.engine != control::EngineKind::none; });
    const control::HostLauncherOptions of_hosts{
        .name = fmt::format("{} ({}, pid {})", partition.name, system_name(), ::getpid()),
        .epoch = next_epoch(partition, directory, calls, clock),
        .partition_file = directory.partition_file(),
        .take_over = options.take_over,
        .memory = control::HostMemory::file_in(directory.path()),
        .engines = has_engine ? engines.get() : nullptr,  // who has none is not asked for each step
    };
    auto launcher = std::make_unique<control::HostLauncher>(partition, of_hosts, calls, events, report, clock);
    auto* all = launcher.get();
    return {nullptr,
            std::move(engines),
            std::move(launcher),
            all,
            [all](const auto&... of_recorder) { return all->books_of(of_recorder...); },
            [all] { return all->view(); },
            [all] { return all->superseded(); },
            [all](auto at_most, const auto& wait) { all->look_for_left(at_most, wait); },
            [all] { all->leave(); }};
}

/// None: the partition file does not ask for it. The directory is locked.
Result<std::optional<OwnAuthority>> own_authority(const PartitionSettings& shared, const RunDirectory& directory) {
    if (!shared.security.own_authority) return std::nullopt;
    auto own = WEIR_TRY(OwnAuthority::prepare(directory.path(), shared.name, system_clock()));
    return own;
}

service::JoinParts join_parts_of(const OwnAuthority& own, const PartitionSettings& shared, const Reporter& report,
                                 const Clock& clock) {
    return {own.authority(), listed_names(shared),
            std::make_shared<const service::JoinTokens>(own.tokens_file(), clock), report, clock};
}

/// A port of its own, where no certificate is asked for.
Result<service::HttpServer> serve_joins(const std::string& listen, const service::ControlAccess& access,
                                        const service::JoinParts& parts,
                                        const std::function<void(const service::HttpRefusal&)>& refused) {
    auto options = service::join_options(listen, access);
    options.refused = refused;
    return service::HttpServer::start(options, service::join_routes(parts));
}

struct PartitionLeft {
    std::filesystem::path file;
    bool run = false;  // it is the record of one that goes on
};

/// With what the run control before this one took its run, or waited for one. Nothing: there was none.
std::optional<PartitionLeft> partition_left(const std::filesystem::path& directory) {
    std::error_code unknown;
    if (const auto open = control::OpenRun(directory).left(); open && *open) {
        auto record = catalogue::run_record_path(directory, (*open)->run);
        if (std::filesystem::exists(record, unknown)) return PartitionLeft{std::move(record), true};
    }
    auto file = RunDirectory::partition_file(directory);
    return std::filesystem::exists(file, unknown) ? std::optional(PartitionLeft{std::move(file)}) : std::nullopt;
}

/// Whether another run control worked in the directory with this partition file.
bool is_that_of_left(const RunDirectory& directory, const std::string& text) {
    const auto before = read_text(directory.partition_file(), 64_MiB);
    return before && *before == text;
}

/// The record of a run says which file that was: `typed`, or another one that counts with the next weir run apply.
void take_file_of(const catalogue::RunRecord& record, const std::filesystem::path& typed, RunOptions& options) {
    if (!record.file.empty()) options.partition = record.file;
    if (typed.empty()) return;
    const auto text = read_text(typed, 64_MiB);
    if (text && *text != record.text)
        complain(weir_run,
                 fmt::format("{} is not the partition file with which the run was begun; it goes on with that "
                             "one, and yours counts after weir run apply",
                             typed.native()));
    options.partition = std::filesystem::absolute(typed);
}

/// Of the file that was typed, or else of the one in the directory.
Result<std::optional<LeasePlace>> lease_place_of(const RunOptions& options) {
    const auto file = options.partition.empty() ? RunDirectory::partition_file(options.directory) : options.partition;
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown)) return std::nullopt;  // which is said later, if it matters
    auto text = WEIR_TRY(read_text(file, 64_MiB));
    const auto record = WEIR_TRY(record_to_take(std::move(text), file));
    return lease_place(record.text, file.native());
}

/// Machines obey no certificate of another authority than the one with which the run was begun.
Result<> check_authority_for(const RunOptions& options, const catalogue::LeaseHolder& from) {
    if (options.partition.empty()) return {};
    auto text = WEIR_TRY(read_text(options.partition, 64_MiB));
    const auto record = WEIR_TRY(record_to_take(std::move(text), options.partition));
    const auto shared = WEIR_TRY(read_shared_settings(record.text, options.partition.native()));
    if (!shared.security.own_authority || OwnAuthority::open(options.directory)) return {};
    return fail(Errc::usage,
                fmt::format("{} has no authority, without which no machine obeys; copy the folder authority from the "
                            "directory of {} into it: no key is in the database",
                            options.directory.native(), from.name));
}

/// For --standby and --take-over. Nothing: there is nothing to take over.
Result<std::optional<RunClaim>> claim_to_take_over(const RunOptions& options) {
    const auto place = WEIR_TRY(lease_place_of(options));
    const auto may = [&](const catalogue::LeaseHolder& from) { return check_authority_for(options, from); };
    if (!options.standby) {
        auto claim = WEIR_TRY(RunClaim::lock(options.directory));
        if (place) {
            WEIR_TRY(claim.take(*place, RunClaim::How::take_over, may));
        }
        return claim;
    }
    while (true) {
        auto claim = WEIR_TRY(RunClaim::stand_by(options.directory, place, may));
        if (!claim || !place) return claim;
        const auto taken = claim->take(*place, RunClaim::How::take_over, may);
        if (taken) return claim;
        if (taken.error().code != Errc::io && taken.error().code != Errc::refused)
            return std::unexpected(taken.error());
        complain(weir_run, taken.error().message());  // another one was quicker, or the database went away
    }
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
    const auto own = own_authority(*shared, *directory);
    if (!own) return fail_with(weir_run, own.error());
    const auto access = shared->access(directory->partition_file());

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
    std::optional<control::LeaseKeeper> lease;
    if (const auto& at = claim->place())
        lease.emplace(control::LeaseKeeperOptions{at->uri, at->partition, claim->id(), claim->name(), directory->path(),
                                                  claim->has_lease()},
                      claim->give_lease(), reports.reporter(), clock);
    EndsLease ends_lease{lease, !options.adopt};
    const auto tls = own_tls(access, reports.reporter(), clock);
    if (!tls) return fail_with(weir_run, tls.error());
    const auto certificate = collect_certificate(metrics, *tls);
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
    const auto collection = control::collect_partition(metrics, control);
    auto routes = control::run_routes(
        {*partition, control, log, reports, metrics, [&changed] { return changed.apply(); }, stations.hosts});
    std::optional<service::JoinParts> join_parts;
    if (*own) {
        join_parts.emplace(join_parts_of(**own, *shared, reports.reporter(), clock));
        routes.push_back(service::renew_route(*join_parts));
    }
    const auto refused = service::report_refusals(reports.reporter(), "run");
    const auto server =
        service::HttpServer::start({.listen = options.listen, .access = access, .refused = refused}, std::move(routes));
    if (!server) return fail_with(weir_run, server.error());
    std::optional<service::HttpServer> joins;
    if (!options.join.empty()) {
        auto started = serve_joins(options.join, *access, *join_parts, refused);
        if (!started) return fail_with(weir_run, started.error());
        joins = std::move(*started);
    }
    const auto announced =
        RunPlace::announce(directory->path(), server->address(), partition->name,
                           access ? access->tls : transport::TlsFiles{}, {joins ? joins->address() : "", options.wait});
    if (!announced) return fail_with(weir_run, announced.error());
    if (options.wait)
        complain(weir_run, fmt::format("run control is at {} ({}{}); weir run start --dir {}", server->address(),
                                       access ? "TLS, listens at " + options.listen : "this machine only",
                                       joins ? "; hosts join at " + joins->address() : "", directory->path().native()));

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
    ends_lease.armed = driven.has_value();
    if (!driven) {
        if (stations.leave && superseded()) stations.leave();
        return fail_with(weir_run, driven.error());
    }
    return report(options, control.view(), directory->path(), on_hosts, shown);
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
    add_json_flag(command, options->json).group(more_options);
    add_run_remote(command, chosen);
    add_run_records(command, chosen);
    add_authority_commands(command, chosen);
    add_join(command, chosen);
    command.require_subcommand(0, 1);
    command.callback([options, &command, &chosen] {
        if (command.get_subcommands().empty()) chosen = [options] { return run_run(*options); };
    });
}

}  // namespace weir::app
