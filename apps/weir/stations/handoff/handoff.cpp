// SPDX-License-Identifier: Apache-2.0
// `weir handoff`: files to permanent storage as a station. It runs until SIGTERM or SIGINT, or with --once until
// what is closed now is handed over.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "stations/frame/station_process.hpp"
#include "stations/handoff/commands.hpp"
#include "stations/handoff/handoff_metrics.hpp"
#include "stations/handoff/handoff_settings.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/hand_off_lock.hpp"
#include "weir/handoff/hand_off.hpp"
#include "weir/service/alarm_keeper.hpp"
#include "weir/service/http_server.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* me = "weir handoff";
constexpr auto carry_deadline = 5s;  // of what the shared catalogue has not heard of at the end

struct Options {
    HandoffSettings settings;
    std::string config;
    bool print_config = false;
    bool json = false;
    std::vector<CLI::Option*> given;  // applied again after the file: the command line has the last word
};

struct Totals {
    std::uint64_t transferred = 0, bytes = 0, bytes_sent = 0, open = 0, given_up = 0;
};

Totals totals_of(const handoff::HandOffSummary& summary) {
    Totals totals;
    for (const auto& d : summary.destinations) {
        totals.transferred += d.transferred;
        totals.bytes += d.bytes;
        totals.bytes_sent += d.bytes_sent;
        totals.open += d.waiting + d.in_hand;
        totals.given_up += d.given_up;
    }
    return totals;
}

double rate_of(const handoff::HandOffSummary& summary) {
    const auto busy = summary.busy.value_or(std::chrono::nanoseconds{0});
    return gb_per_s(totals_of(summary).bytes, std::chrono::duration<double>(busy).count());
}

json::object summary_json(const handoff::HandOffSummary& summary) {
    json::array destinations;
    for (const auto& d : summary.destinations) {
        destinations.push_back({{"name", json_text(d.name)},
                                {"files", d.transferred},
                                {"bytes", d.bytes},
                                {"bytes_sent", d.bytes_sent},
                                {"failed", d.failed},
                                {"unverified", d.unverified},
                                {"waiting", d.waiting + d.in_hand},
                                {"given_up", d.given_up},
                                {"error", json_text(d.error)}});
    }
    return {{"files", summary.files_transferred},
            {"quarantined", summary.files_quarantined},
            {"without_sum", summary.files_without_sum},
            {"deleted", {{"files", summary.files_deleted}, {"bytes", summary.bytes_deleted}}},
            {"destinations", std::move(destinations)},
            {"seconds", std::chrono::duration<double>(summary.running).count()},
            {"gb_per_s", rate_of(summary)}};
}

void print_summary(const handoff::HandOffSummary& summary) {
    for (const auto& d : summary.destinations) {
        print("{}: {} verified, {}", printable(d.name), counted(d.transferred, "file"), human(Bytes{d.bytes}));
        if (d.failed + d.unverified > 0)
            print(", {} failed, {} without a sum", counted(d.failed, "attempt"), d.unverified);
        if (d.waiting + d.in_hand + d.given_up > 0)
            print(", {} not handed over", counted(d.waiting + d.in_hand + d.given_up, "file"));
        print("\n");
    }
    print("{} handed over, {} quarantined, {} deleted here, {:.2f} GB/s\n", counted(summary.files_transferred, "file"),
          summary.files_quarantined, summary.files_deleted, rate_of(summary));
}

std::string status_line(const handoff::HandOffSummary& now, const handoff::HandOffSummary& before) {
    const auto totals = totals_of(now);
    const auto seconds = std::chrono::duration<double>(now.running - before.running).count();
    const auto rate = gb_per_s(totals.bytes_sent - totals_of(before).bytes_sent, seconds);
    auto line =
        fmt::format("handoff  {} verified  {}  {} to go  {:.2f} GB/s", counted(totals.transferred, "copy", "copies"),
                    human(Bytes{totals.bytes}), totals.open, rate);
    for (const auto& d : now.destinations) {
        if (!d.up) line += fmt::format("  {} fails: {}", d.name, d.error);
    }
    return line;
}

/// Until a signal comes; with --once, until everything is done or given up.
void watch(handoff::HandOff& hand_off, bool once, StationProcess& process) {
    ProgressLine line(process.clock);
    auto before = hand_off.summary();
    while (!process.signals.wait(once ? 20ms : 250ms) && !(once && hand_off.wait_until_over(50ms))) {
        process.reports.step();
        if (!line.due()) continue;
        const auto now = hand_off.summary();
        line.show(status_line(now, before));
        before = now;
    }
}

/// Everything that was to be handed over is.
bool all_done(const handoff::HandOffSummary& summary) {
    const auto totals = totals_of(summary);
    return totals.open == 0 && totals.given_up == 0 && summary.files_quarantined == 0 &&
           summary.files_without_sum == 0 && summary.catalogue_failures == 0;
}

int run_handoff(Options& options) {
    auto& s = options.settings;
    service::Settings table;
    s.declare(table);
    if (!options.config.empty()) {
        if (auto read = table.read_file(options.config); !read) return fail_with(me, read.error());
        for (auto* option : options.given) {
            if (option->count() > 0) option->run_callback();
        }
    }
    if (options.print_config) return print(table.effective()), exit_good;
    if (s.directory.empty())
        return fail_usage(me, "no directory to hand over from; name the first one of a recorder with --dir");
    if (s.destinations.empty())
        return fail_usage(me, "no destination; name one with --to: root://HOST:PORT//PATH, or a directory");
    auto to = s.to_options();
    if (!to) return fail_with(me, to.error());

    const auto path = catalogue::own_catalogue_path(s.directory, s.catalogue);
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return fail_missing(me, fmt::format("{} has no catalogue ({}); name the first directory of a recorder",
                                            s.directory, path.filename().native()));
    const auto lock = catalogue::HandOffLock::take(path);
    if (!lock) return fail_with(me, lock.error());

    StationProcess process("handoff");  // before any thread begins, those of XRootD's client too
    auto& reports = process.reports;
    const auto& clock = process.clock;
    const auto catalogue = catalogue::open_catalogue_beside_recorder(s.directory, s.catalogue, reports.reporter());
    if (!catalogue) return fail_with(me, catalogue.error());
    auto destinations = s.open_destinations(*to);
    if (!destinations) return fail_with(me, destinations.error());
    const bool once = to->once;
    const auto tidy = std::min<std::chrono::milliseconds>(to->transfer.answer, 3s);
    auto hand_off = handoff::HandOff::create(**catalogue, std::move(*destinations), std::move(*to), reports, clock);
    if (!hand_off) return fail_with(me, hand_off.error());
    const auto alarms =
        service::AlarmKeeper::start(reports, {.directory = s.directory, .station = service::hand_off_station});
    if (!alarms) return fail_with(me, alarms.error());
    process.say_latched(me);
    std::optional collection = collect_handoff(process.metrics, **hand_off, **catalogue, reports, clock);
    std::optional<service::HttpServer> server;
    if (!s.metrics.empty() && !once) {
        auto started = service::HttpServer::start({.listen = s.metrics}, {service::metrics_route(process.metrics)});
        if (!started) return fail_with(me, started.error());
        server = std::move(*started);
        fmt::print(stderr, "weir handoff: metrics on port {}\n", server->port());
    }
    (*hand_off)->start();
    watch(**hand_off, once, process);
    const bool stopped = (*hand_off)->stop(tidy * 2 + 10s);
    if (!s.catalogue.empty()) {
        if (const auto waiting = catalogue::carried_over(**catalogue, carry_deadline)) complain(me, *waiting);
    }

    const auto summary = (*hand_off)->summary();
    if (options.json) {
        print_json(summary_json(summary));
    } else {
        print_summary(summary);
    }
    const auto code = once && !all_done(summary) ? exit_bad : exit_good;
    if (stopped) return code;
    // A thread waits for a disk or a server that never answers. Nothing is lost by leaving it: what it has begun is an
    // orphan that the next start removes.
    complain(me, "a destination or a disk does not answer; what was begun there is removed by the next start");
    flush_output();
    std::_Exit(exit_bad);
}

}  // namespace

void add_handoff(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<Options>();
    auto& s = options->settings;
    auto& o = s.options;
    auto& command =
        add_command(parent, group_record, "handoff", "hands closed files to storage, verified there; makes room here",
                    "weir handoff --dir data --to root://eos.example.org//raw/{run} --once");
    auto& given = options->given;
    given.push_back(
        &add_value(command, "--dir", s.directory, "D", "first directory of a recorder: its catalogue is there"));
    given.push_back(
        &add_value(command, "--to", s.destinations, "URL", "root://HOST:PORT//PATH or a directory; once for each"));
    add_flag(command, "--once", o.once, "hands over what is closed now, and ends");
    given.push_back(&add_value(command, "--jobs,-j", o.concurrency, "N", "files at once, to each destination"));
    given.push_back(&add_value(command, "--bwlimit", o.rate, "SIZE", "bytes a second of all; 0B: no limit"));
    given.push_back(
        &add_value(command, "--priority", s.priorities, "PATTERN=N", "of streams; the smaller goes first, else 100"));
    given.push_back(
        &add_choice(command, "--verify", s.verify,
                    {{"sum", std::string("sum")}, {"read", std::string("read")}, {"both", std::string("both")}},
                    "its own sum, or read back"));
    given.push_back(
        &add_value(command, "--delete-above", o.deletion.above_percent, "PERCENT", "of a volume in use; 100: never"));
    given.push_back(
        &add_value(command, "--delete-age", o.deletion.age, "TIME", "before it is deleted, since verified"));
    given.push_back(&add_value(command, "--metrics", s.metrics, "H:P", "address and port for Prometheus"));
    auto& checksum = add_value(command, "--checksum", s.checksum, "NAME", "that is compared");
    auto& answer =
        add_value(command, "--answer", o.transfer.answer, "TIME", "longest wait for one answer of a destination");
    auto& first = add_value(command, "--retry-first", o.retry_first, "TIME", "wait after a failure, then doubled");
    auto& most = add_value(command, "--retry-most", o.retry_most, "TIME", "longest wait after a failure");
    auto& poll = add_value(command, "--poll", o.poll, "TIME", "how often the catalogue is looked at");
    auto& alarm = add_value(command, "--alarm-age", o.alarm_age, "TIME", "of a file that waits, before it is an alarm");
    auto& tries = add_value(command, "--tries", o.tries, "N", "with --once: of a file before it is given up");
    auto& catalogue =
        add_value(command, "--catalogue", s.catalogue, "URI", "as its recorder has it: postgresql://..., a file");
    auto& recorder = add_value(command, "--recorder", s.recorder, "NAME", "only files of this recorder");
    for (auto* option : {&checksum, &answer, &first, &most, &poll, &alarm, &tries, &catalogue, &recorder}) {
        option->group(more_options);
        given.push_back(option);
    }
    add_value(command, "--config", options->config, "FILE", "TOML, section [handoff]; options go before it");
    add_flag(command, "--print-config", options->print_config, "prints every key with its value and ends");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_handoff(*options); }; });
}

}  // namespace weir::app
