// SPDX-License-Identifier: Apache-2.0
#include "run/run_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <utility>

#include "cli/output.hpp"
#include "run/log_filter.hpp"
#include "run/records/find_record.hpp"
#include "run/remote_calls.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/catalogue/run_record_file.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* weir_run_log = "weir run log";

struct RunLogOptions {
    RunAddressOptions run{};
    std::vector<std::string> stations;
    std::string severity = "information", since, until;
    std::uint32_t of_run = 0;  // 0: any
    bool follow = false;
    bool json = false;
};

Result<LogFilter> filter_of(const RunLogOptions& options) {
    LogFilter filter{.stations = options.stations};
    const auto severity = parse_severity(options.severity);
    if (!severity)
        return fail(Errc::usage, fmt::format("--severity {} is none; there are information, warning, error and fatal",
                                             options.severity));
    filter.severity = *severity;
    const auto now = system_clock().wall();
    if (!options.since.empty()) filter.since = WEIR_TRY(parse_moment(options.since, now));
    if (!options.until.empty()) filter.until = WEIR_TRY(parse_moment(options.until, now));
    if (options.of_run == 0) return filter;
    if (!options.run.at.empty())
        return fail(Errc::usage, "--run takes the times of the run from its record, and that is in --dir, not --at");
    // Lines do not say of which run they are: those of a run are from its start to that of the next.
    const RecordPlace place{.directory = options.run.directory};
    const auto record = WEIR_TRY(find_record(RunNumber{options.of_run}, place));
    filter.since = std::max(filter.since.value_or(record.started), record.started);
    const auto own = catalogue::run_record_path(place.directory, record.run).native();
    const auto records = WEIR_TRY(catalogue::run_record_files(place.directory));  // by number; some may be left out
    for (const auto& path : records) {
        if (std::pair(path.native().size(), path.native()) <= std::pair(own.size(), own)) continue;
        const auto next = catalogue::read_run_record(path);
        if (!next) continue;
        filter.until = std::min(filter.until.value_or(next->started), next->started);
        break;
    }
    return filter;
}

void print_entry(const RunLogOptions& options, const service::LogEntry& entry) {
    if (options.json) {
        print_json(json::object{{"time", service::log_time(entry.when)},
                                {"station", json_text(entry.station)},
                                {"severity", name(entry.severity)},
                                {"text", json_text(entry.text)}});
    } else {
        print("{}\n", printable(service::log_line(entry)));
    }
}

std::vector<std::filesystem::path> log_files(const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> files;
    std::error_code absent;
    for (std::filesystem::directory_iterator entry(directory / "log", absent), end; !absent && entry != end;
         entry.increment(absent)) {
        if (entry->path().extension() == ".log") files.push_back(entry->path());
    }
    std::ranges::sort(files);
    return files;
}

/// What was printed of the lines that there were: when nothing, that is reported.
struct LinesShown {
    std::uint64_t lines = 0, printed = 0;

    void print_if(const RunLogOptions& options, const LogFilter& filter, const service::LogEntry& entry) {
        ++lines;
        if (!filter.wants(entry)) return;
        ++printed;
        print_entry(options, entry);
    }
    int end() const {
        flush_output();
        if (output_errno() != 0) return exit_bad;
        if (printed == 0)
            complain(weir_run_log,
                     lines == 0 ? "the log has no lines" : fmt::format("no line of {} matches", with_commas(lines)));
        return exit_good;
    }
};

/// What the stations of a run control that has ended left, one file after the other.
int print_log_files(const RunLogOptions& options, const LogFilter& filter,
                    const std::vector<std::filesystem::path>& files) {
    std::vector<std::string> stations;
    for (const auto& path : files) stations.push_back(path.stem().native());
    if (const auto known =
            check_stations(filter.stations, std::move(stations), (options.run.directory / "log").native());
        !known)
        return fail_without_run(weir_run_log, known.error());
    LinesShown shown;
    for (const auto& path : files) {
        auto older = path;
        older += ".1";
        WallTime last{};  // of a line without a time
        for (const auto& part : {older, path}) {
            std::ifstream file(part);
            if (!file && part == path) return fail_missing(weir_run_log, fmt::format("cannot read {}", path.native()));
            for (std::string line; std::getline(file, line) && output_errno() == 0;) {
                auto entry = service::parse_log_line(line, last);
                last = entry.when;
                entry.station = path.stem().native();
                shown.print_if(options, filter, entry);
            }
        }
    }
    return shown.end();
}

/// One of GET /log.
service::LogEntry entry_of(const json::value& line) {
    json::Fields fields(line, "a line");
    const auto seconds = fields.real("time", 0.0);
    const auto* text = line.if_object() != nullptr ? line.get_object().if_contains("text") : nullptr;
    auto entry = service::parse_log_line(
        text != nullptr && text->is_string() ? std::string_view(text->get_string()) : "",
        WallTime{std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(seconds))});
    entry.station = fields.text("station", "");
    return entry;
}

/// Lines of run control behind the line `after`, which becomes the last of them. They live as long as `page`.
Result<const json::array*> lines_of(const json::value& page, std::uint64_t& after) {
    json::Fields fields(page, "the answer");
    const auto* lines = fields.array("lines", 100'000);
    if (lines == nullptr) {
        WEIR_TRY(fields.result());
        return fail(Errc::corrupt, "no lines in the answer");
    }
    for (const auto& line : *lines) {
        json::Fields of_line(line, "a line");
        after = std::max(after, of_line.number("number", after));
    }
    return lines;
}

/// That run control knows each station that is wanted: the partition has it now, or the log has lines of it.
Result<> check_stations_of(const service::ControlClient& client, const std::vector<std::string>& wanted) {
    if (wanted.empty()) return {};
    std::vector<std::string> known{"run"};
    const auto add = [&](const json::array* of, const char* field) {
        for (const auto& one : of != nullptr ? *of : json::array{}) {
            json::Fields fields(one, "a station");
            if (auto name = fields.text(field, ""); !name.empty()) known.push_back(std::move(name));
        }
    };
    const auto partition = WEIR_TRY(body_of(client.get("/partition")));
    json::Fields fields(partition, "the answer");
    add(fields.array("stations", 100'000), "name");
    if (check_stations(wanted, known, "")) return {};
    for (std::uint64_t after = 0;;) {
        const auto page = WEIR_TRY(body_of(client.get(fmt::format("/log?after={}", after))));
        const auto* lines = WEIR_TRY(lines_of(page, after));
        if (lines->empty()) return check_stations(wanted, known, "the partition");
        add(lines, "station");
    }
}

int run_log(const RunLogOptions& options) {
    const auto filter = filter_of(options);
    if (!filter) return fail_without_run(weir_run_log, filter.error());
    const auto client = client_of(options.run);
    if (!client) {
        const auto files =
            has_ended(options.run) ? log_files(options.run.directory) : std::vector<std::filesystem::path>{};
        return files.empty() ? fail_without_run(weir_run_log, client.error())
                             : print_log_files(options, *filter, files);
    }
    std::uint64_t after = 0;
    LinesShown shown;
    while (true) {
        const auto page = body_of(client->get(fmt::format("/log?after={}", after)));
        if (!page) {
            if (after > 0) return exit_good;  // it has ended
            const auto files = page.error().code == Errc::io && options.run.at.empty()
                                   ? log_files(options.run.directory)
                                   : std::vector<std::filesystem::path>{};
            return files.empty() ? fail_with(weir_run_log, page.error()) : print_log_files(options, *filter, files);
        }
        if (after == 0) {
            const auto known = check_stations_of(*client, filter->stations);
            if (!known && known.error().code != Errc::io)  // else it has ended meanwhile
                return fail_without_run(weir_run_log, known.error());
        }
        const auto lines = lines_of(*page, after);
        if (!lines) return fail_with(weir_run_log, lines.error());
        for (const auto& line : **lines) shown.print_if(options, *filter, entry_of(line));
        flush_output();
        if (output_errno() != 0) return exit_bad;
        if (!(*lines)->empty()) continue;
        if (!options.follow) return shown.end();
        pause(200ms);
    }
}

}  // namespace

void add_run_log(CLI::App& run, Command& chosen) {
    auto options = std::make_shared<RunLogOptions>();
    auto& command = add_command(run, group_stations, "log", "what the stations reported",
                                "weir run log --dir D --severity warning --since 10min");
    declare_run_address(command, options->run);
    add_value(command, "--station", options->stations, "NAME", "only of these; run is run control");
    add_value(command, "--severity", options->severity, "S", "and worse: information, warning, error, fatal");
    add_value(command, "--run", options->of_run, "N", "from its start to that of the next one");
    add_value(command, "--since", options->since, "TIME", "2026-11-27T22:30, 22:30 (UTC, today) or 10min (ago)");
    add_value(command, "--until", options->until, "TIME", "the same");
    add_flag(command, "--follow", options->follow, "goes on until run control ends");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_log(*options); }; });
}

}  // namespace weir::app
