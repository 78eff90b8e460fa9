// SPDX-License-Identifier: Apache-2.0
// `weir handoff`: the hand-off as a station. It runs until SIGTERM or SIGINT, or with --once until what is closed now
// is handed over; with a partition file it is one of its stations.
#include <fmt/format.h>

#include <memory>

#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "stations/alone/station_alone.hpp"
#include "stations/frame/station_process.hpp"
#include "stations/handoff/commands.hpp"
#include "stations/handoff/handoff_station.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/control/lone_page.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* weir_handoff = "weir handoff";
struct HandoffOptions : AloneOptions {
    HandOffSettings settings;
};

struct Totals {
    std::uint64_t transferred = 0, bytes = 0, bytes_sent = 0, open = 0, abandoned = 0;
};

Totals totals_of(const handoff::HandOffSummary& summary) {
    Totals totals;
    for (const auto& d : summary.destinations) {
        totals.transferred += d.transferred;
        totals.bytes += d.bytes;
        totals.bytes_sent += d.bytes_sent;
        totals.open += d.waiting + d.in_hand;
        totals.abandoned += d.abandoned;
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
                                {"given_up", d.abandoned},
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
        if (d.waiting + d.in_hand + d.abandoned > 0)
            print(", {} not handed over", counted(d.waiting + d.in_hand + d.abandoned, "file"));
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

/// Until a signal comes; with --once, until everything is done or abandoned.
void watch(HandOffStation& station, bool once, StationProcess& process) {
    ProgressLine line(process.clock);
    auto before = station.summary();
    while (!process.signals.wait(once ? 20ms : 250ms) && !(once && station.wait_until_over(50ms))) {
        if (!line.due()) continue;
        const auto now = station.summary();
        line.show(status_line(now, before));
        before = now;
    }
}

/// Everything that was to be handed over is.
bool all_done(const handoff::HandOffSummary& summary) {
    const auto totals = totals_of(summary);
    return totals.open == 0 && totals.abandoned == 0 && summary.files_quarantined == 0 &&
           summary.files_without_sum == 0 && summary.catalogue_failures == 0;
}

int run_handoff(HandoffOptions& options) {
    auto& s = options.settings;
    if (options.in_partition()) {
        if (!s.directory.empty()) options.station.directories = {s.directory};
        options.station.json = options.json;
        HandOffStationSettings settings(s.catalogue);
        return run_in_partition(weir_handoff, StationKind::handoff, options, {"--dir", "--catalogue"}, settings);
    }
    service::Settings table;
    s.declare(table);
    if (auto read = read_config(table, options); !read) return fail_with(weir_handoff, read.error());
    if (options.print_config) return print(table.effective()), exit_good;
    if (s.directory.empty())
        return fail_usage(weir_handoff, "no directory to hand over from; name the first one of a recorder with --dir");
    if (s.destinations.empty())
        return fail_usage(weir_handoff, "no destination; name one with --to: root://HOST:PORT//PATH, or a directory");
    if (auto good = s.to_options(); !good) return fail_with(weir_handoff, good.error());
    const auto path = catalogue::own_catalogue_path(s.directory, s.catalogue);
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return fail_missing(weir_handoff,
                            fmt::format("{} has no catalogue ({}); name the first directory of a recorder", s.directory,
                                        path.filename().native()));

    const bool once = s.options.once;
    control::LogBook log;
    StationProcess process("handoff", 0,
                           control::log_book_sink(log),  // before any thread, those of XRootD's client too
                           log_options(options.log_format));
    HandOffStation station(s, "handoff", wire::StationId{1}, process.services);
    control::LonePage page({.name = "handoff",
                            .kind = StationKind::handoff,
                            .status = [&station] { return station.status(); },
                            .catalogues = {path}},
                           log, process.reports, process.timers, process.clock);
    const auto frame =
        start_alone(station, "handoff", StationKind::handoff,
                    {.listen = once ? std::string() : s.metrics, .tls = {}, .plain = s.plain, .routes = page.routes()},
                    process.services);
    if (!frame) return fail_with(weir_handoff, frame.error());
    process.report_latched(weir_handoff);
    if (const auto address = (*frame)->control_address(); !address.empty()) {
        complain(weir_handoff, "metrics on port " + address.substr(address.rfind(':') + 1));
        complain(weir_handoff, "the page is at " + page_address(address, false));
    }
    watch(station, once, process);
    const auto stopped = (*frame)->wind_down(as_long_as_it_takes);

    if (const auto& waiting = station.not_carried()) complain(weir_handoff, *waiting);
    const auto summary = station.summary();
    if (options.json) {
        print_json(summary_json(summary));
    } else {
        print_summary(summary);
    }
    if (!stopped) return fail_with(weir_handoff, stopped.error());
    return once && !all_done(summary) ? exit_bad : exit_good;
}

}  // namespace

void add_handoff(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<HandoffOptions>();
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
    given.push_back(&add_flag(command, "--once", o.once, "hands over what is closed now, and ends"));
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
    given.push_back(
        add_flag(command, "--plain", s.plain, "metrics also where other machines reach them").group(more_options));
    auto& checksum = add_value(command, "--checksum", s.checksum, "NAME", "that is compared");
    auto& answer =
        add_value(command, "--answer", o.transfer.answer, "TIME", "longest wait for one answer of a destination");
    auto& first = add_value(command, "--retry-first", o.retry_first, "TIME", "wait after a failure, then doubled");
    auto& most = add_value(command, "--retry-most", o.retry_most, "TIME", "longest wait after a failure");
    auto& poll = add_value(command, "--poll", o.poll, "TIME", "how often the catalogue is looked at");
    auto& alarm = add_value(command, "--alarm-age", o.alarm_age, "TIME", "of a file that waits, before it is an alarm");
    auto& tries = add_value(command, "--tries", o.tries, "N", "with --once: of a file before it is abandoned");
    auto& catalogue =
        add_value(command, "--catalogue", s.catalogue, "URI", "as its recorder has it: postgresql://..., a file");
    auto& recorder = add_value(command, "--recorder", s.recorder, "NAME", "only files of this recorder");
    for (auto* option : {&checksum, &answer, &first, &most, &poll, &alarm, &tries, &catalogue, &recorder}) {
        option->group(more_options);
        given.push_back(option);
    }
    declare_alone(command, StationKind::handoff, *options);
    declare_tls_options(command, options->station);
    command.callback([options, &chosen] { chosen = [options] { return run_handoff(*options); }; });
}

}  // namespace weir::app
