// SPDX-License-Identifier: Apache-2.0
#include "run/session/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <ranges>
#include <utility>

#include "cli/command_line.hpp"
#include "run/directory/run_directory.hpp"
#include "weir/base/file.hpp"
#include "weir/control/run_json.hpp"
#include "weir/service/alarm_text.hpp"

namespace weir::app {
namespace {

std::string rejected_text(const service::StationLedger& ledger) {
    std::string text;
    for (const auto& [reason, count] : ledger.rejected) {
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", with_commas(count), reason);
    }
    return text.empty() ? "0" : text;
}

double counter(const control::PartitionView& view, const std::string& name) {
    double sum = 0;
    for (const auto& station : view.stations) {
        const auto found = station.report.status.counters.find(name);
        if (station.entry.kind == StationKind::record && found != station.report.status.counters.end())
            sum += found->second;
    }
    return sum;
}

std::string text_of(const json::object& object, const char* key) {
    const auto* value = object.if_contains(key);
    if (value == nullptr) return {};
    if (const auto* text = value->if_string()) return std::string(*text);
    return json::serialize(*value);
}

std::uint64_t number_of(const json::object& object, const char* key) {
    const auto* value = object.if_contains(key);
    boost::system::error_code none;
    const auto number = value != nullptr ? value->to_number<std::uint64_t>(none) : 0;
    return none ? 0 : number;
}

double real_of(const json::object& object, const char* key) {
    const auto* value = object.if_contains(key);
    boost::system::error_code none;
    const auto number = value != nullptr ? value->to_number<double>(none) : 0;
    return none ? 0 : number;
}

constexpr std::size_t sources_shown = 20;

/// Sources with something to say, the worst first: those that are masked, silent, or of which fragments are missing,
/// and those whose fragments programs outside brought, who have accounts of their own to compare.
std::string sources_text(const json::array& sources) {
    std::vector<const json::object*> shown;
    for (const auto& value : sources) {
        const auto* source = value.if_object();
        if (source == nullptr) continue;
        const bool sound = number_of(*source, "missing") + number_of(*source, "lost") + number_of(*source, "late") +
                                   number_of(*source, "duplicated") + number_of(*source, "refused") +
                                   number_of(*source, "disordered") + number_of(*source, "jumps") ==
                               0 &&
                           text_of(*source, "masked") != "true" && text_of(*source, "silent") != "true";
        if (!sound || text_of(*source, "outside") == "true") shown.push_back(source);
    }
    if (shown.empty()) return {};
    std::ranges::sort(shown, [](const json::object* a, const json::object* b) {
        return std::pair(number_of(*b, "missing"), text_of(*a, "source")) <
               std::pair(number_of(*a, "missing"), text_of(*b, "source"));
    });
    Table table({{"source"},
                 {"readout"},
                 {"expected", Table::Align::right},
                 {"missing", Table::Align::right},
                 {"arrived", Table::Align::right},
                 {"late", Table::Align::right},
                 {"lost", Table::Align::right},
                 {"duplicated", Table::Align::right},
                 {"refused", Table::Align::right},
                 {""}});
    for (const auto* source : shown | std::views::take(sources_shown)) {
        const auto count = [&](const char* key) { return with_commas(number_of(*source, key)); };
        table.add({text_of(*source, "source"), text_of(*source, "readout"), count("expected"), count("missing"),
                   count("arrived"), count("late"), count("lost"), count("duplicated"), count("refused"),
                   text_of(*source, "masked") == "true"   ? "masked"
                   : text_of(*source, "silent") == "true" ? "SILENT"
                   : number_of(*source, "jumps") > 0      ? "its counter jumped"
                                                          : ""});
    }
    auto text = "\n" + table.text();
    if (shown.size() > sources_shown) text += fmt::format("and {} more sources\n", shown.size() - sources_shown);
    return text;
}

/// Of all reasons.
std::uint64_t rejected_of(const json::object& ledger) {
    std::uint64_t sum = 0;
    if (const auto* rejected = ledger.if_contains("rejected"); rejected != nullptr && rejected->is_object()) {
        for (const auto& [reason, count] : rejected->get_object())
            sum += number_of(rejected->get_object(), std::string(reason).c_str());
    }
    return sum;
}

/// "; 3 of 25 files are not handed over yet: ..."
std::string left_text(const control::HandOffAccount& files) {
    std::string text;
    for (const auto& some : {files.later_text(), files.kept_text()}) {
        if (!some.empty()) text += "; " + printable(some);
    }
    return text;
}

}  // namespace

std::string progress_text(const control::PartitionView& now, const control::PartitionView& before) {
    const auto seconds = now.seconds - before.seconds;
    const auto events = now.events.built - std::min(before.events.built, now.events.built);
    const auto bytes = counter(now, "bytes_stored");
    std::uint32_t restarts = 0;
    for (const auto& station : now.stations) restarts += station.restarts;
    return fmt::format(
        "run {}  {}  {} of {} events built  {:.0f}/s  {} recorded in {}  {}{}{}", number(now.run), name(now.state),
        with_commas(now.events.built), with_commas(now.events.triggers),
        seconds > 0 ? static_cast<double>(events) / seconds : 0.0, with_commas(now.events.recorded),
        counted(static_cast<std::uint64_t>(counter(now, "files")), "file"),
        human(Bytes{static_cast<std::uint64_t>(bytes)}),
        now.events.incomplete > 0 ? fmt::format("  {} INCOMPLETE", with_commas(now.events.incomplete)) : "",
        restarts > 0 ? fmt::format("  {} restarted", counted(restarts, "station")) : "");
}

json::object result_json(const control::RunResult& result, const std::filesystem::path& directory) {
    auto document = control::to_json(result);
    document["directory"] = json_text(directory.native());
    return document;
}

void print_result(const control::RunResult& result, const std::string& where) {
    print("run {}: {}, after {:.1f} s\n\n", number(result.run), result.reason, result.seconds);
    Table stations({{"station"},
                    {"kind"},
                    {"counts"},
                    {"received", Table::Align::right},
                    {"stored", Table::Align::right},
                    {"rejected"},
                    {"restarts", Table::Align::right}});
    for (const auto& s : result.stations) {
        stations.add({s.name, name(s.kind), s.ledger.what, with_commas(s.ledger.received), with_commas(s.ledger.stored),
                      rejected_text(s.ledger), s.restarts > 0 ? with_commas(s.restarts) : ""});
    }
    print(stations.text());
    json::array sources;
    for (const auto& source : result.sources) sources.push_back(control::to_json(source));
    print("{}", sources_text(sources));
    const auto& e = result.events;
    print("\nevents    {} triggers: {} accepted, {} rejected; {} built, {} of them incomplete; {} recorded\n",
          with_commas(e.triggers), with_commas(e.accepted), with_commas(e.rejected), with_commas(e.built),
          with_commas(e.incomplete), with_commas(e.recorded));
    print("recorded  {} in {}, {:.3f} GB/s, below {}\n", human(Bytes{result.bytes_stored}),
          counted(result.files, "file"), gb_per_s(result.bytes_stored, result.seconds), where);
    if (const auto& h = result.hand_off)
        print("hand-off  {} of {} handed over{}\n", with_commas(h->handed_over), counted(h->closed, "file"),
              left_text(*h));
    if (const auto triggers = result.triggers.text(); !triggers.empty()) print("triggers  {}\n", printable(triggers));
    if (const auto faults = result.triggers.faults_text(); !faults.empty()) print("triggers  {}\n", printable(faults));
    if (const auto& s = result.selection; s.forced() > 0 || s.hanging > 0)
        print(
            "selection {} decisions forced: {} threw, {} timed out, {} crashed, {} with a unit that died; {} hanging\n",
            with_commas(s.forced()), with_commas(s.threw), with_commas(s.timed_out), with_commas(s.crashed),
            with_commas(s.unjudged), with_commas(s.hanging));
    for (const auto& alarm : result.alarms) print("alarm     {}\n", printable(alarm));
    if (const auto refused = result.triggers.refused(); result.good() && refused > 0)
        return print("\ngood, but {} {} refused (above): every ledger balances\n", counted(refused, "trigger"),
                     refused == 1 ? "was" : "were");
    if (result.good()) return print("\nall well: every ledger balances\n");
    print("\nNOT ALL WELL\n");
    for (const auto& problem : result.problems) print("  {}\n", printable(problem));
}

void print_status(const json::object& partition) {
    print("partition {} is {}", printable(text_of(partition, "partition")), text_of(partition, "state"));
    if (number_of(partition, "run") > 0) print(", run {}", number_of(partition, "run"));
    if (const auto comment = text_of(partition, "comment"); !comment.empty()) print(": {}", printable(comment));
    print("\n\n");
    Table table({{"station"},
                 {"kind"},
                 {"state"},
                 {"received", Table::Align::right},
                 {"rate/s", Table::Align::right},
                 {"stored", Table::Align::right},
                 {"rejected", Table::Align::right},
                 {"in hand", Table::Align::right},
                 {"restarts", Table::Align::right},
                 {"control"}});
    if (const auto* stations = partition.if_contains("stations"); stations != nullptr && stations->is_array()) {
        for (const auto& value : stations->as_array()) {
            const auto* station = value.if_object();
            if (station == nullptr) continue;
            const auto* ledger = station->if_contains("ledger");
            const json::object none;
            const auto& counts = ledger != nullptr && ledger->is_object() ? ledger->get_object() : none;
            table.add({text_of(*station, "name"), text_of(*station, "kind"), text_of(*station, "state"),
                       with_commas(number_of(counts, "received")), fmt::format("{:.0f}", real_of(*station, "rate")),
                       with_commas(number_of(counts, "stored")), with_commas(rejected_of(counts)),
                       with_commas(number_of(counts, "in_hand")), with_commas(number_of(*station, "restarts")),
                       text_of(*station, "control")});
        }
    }
    print(table.text());
    if (const auto* hosts = partition.if_contains("hosts");
        hosts != nullptr && hosts->is_array() && !hosts->get_array().empty())
        print("\n{}", hosts_text(hosts->get_array()));
    if (const auto* sources = partition.if_contains("sources"); sources != nullptr && sources->is_array())
        print("{}", sources_text(sources->get_array()));
}

std::string alarms_text(const json::array& alarms) {
    constexpr std::size_t alarms_shown = 20;
    std::string text;
    std::size_t latched = 0;
    for (const auto& value : alarms) {
        const auto* alarm = value.if_object();
        if (alarm == nullptr || text_of(*alarm, "latched") != "true" || latched++ >= alarms_shown) continue;
        const auto name = text_of(*alarm, "name"), whole = text_of(*alarm, "text");
        const auto cause = service::alarm_text(name, whole);
        text += fmt::format("ALARM {} {}: {}{}{}\n", printable(text_of(*alarm, "severity")),
                            printable(text_of(*alarm, "station")), printable(name), cause.empty() ? "" : ": ",
                            printable(cause));
    }
    if (latched > alarms_shown) text += fmt::format("and {} more alarms\n", latched - alarms_shown);
    return text.empty() ? text : "\n" + text;
}

std::string hosts_text(const json::array& hosts) {
    const bool groups = std::ranges::any_of(hosts, [](const json::value& value) {
        const auto* host = value.if_object();
        return host != nullptr && !text_of(*host, "node").empty();
    });
    std::vector<Table::Column> columns{
        {"host"}, {"state"}, {"stations", Table::Align::right}, {"silent s", Table::Align::right}, {"agent"}};
    if (groups) columns.push_back({"node"});
    columns.push_back({"trouble"});
    Table table(std::move(columns));
    for (const auto& value : hosts) {
        const auto* host = value.if_object();
        if (host == nullptr) continue;
        std::vector<std::string> cells{text_of(*host, "name"), text_of(*host, "state"),
                                       with_commas(number_of(*host, "stations")),
                                       fmt::format("{:.1f}", real_of(*host, "silent")), text_of(*host, "address")};
        if (groups) cells.push_back(printable(text_of(*host, "node")));
        cells.push_back(printable(text_of(*host, "trouble")));
        table.add(std::move(cells));
    }
    return table.text();
}

int report_end(const RunOptions& options, const control::PartitionView& end, const std::filesystem::path& directory,
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

}  // namespace weir::app
