// SPDX-License-Identifier: Apache-2.0
// `weir alarms`: what a recorder, or the hand-off beside it, raised and is not acknowledged yet. Asks the station
// that runs, else reads its file.
#include <fmt/chrono.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "files/commands.hpp"
#include "files/recorder_directories.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/hand_off_lock.hpp"
#include "weir/datafile/directory_lock.hpp"
#include "weir/service/alarm_keeper.hpp"

namespace weir::app {
namespace {

constexpr const char* weir_alarms = "weir alarms";

struct AlarmsOptions {
    std::filesystem::path directory{"."};
    std::vector<std::string> acknowledge;
    std::string person;
    bool json = false;
};

std::string user_name() {
    const auto* user = ::getpwuid(::geteuid());
    return user != nullptr ? user->pw_name : std::to_string(::geteuid());
}

std::string utc(WallTime time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

double seconds_of(WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

/// A station that raises alarms beside the catalogue of a recorder.
struct Station {
    const char* name;
    service::AlarmPlace place;
    bool running = false;
    std::vector<service::Alarm> alarms{};
};

json::object json_of(const Station& station, const service::Alarm& alarm) {
    json::object object{{"name", json_text(alarm.name)},
                        {"station", station.name},
                        {"directory", json_text(station.place.directory.native())},
                        {"latched", !alarm.acknowledged_at},
                        {"severity", std::string(name(alarm.report.severity))},
                        {"text", json_text(alarm.report.what)},
                        {"raised", alarm.raised},
                        {"first", seconds_of(alarm.first)},
                        {"last", seconds_of(alarm.last)}};
    if (alarm.acknowledged_at) {
        object["acknowledged_by"] = json_text(*alarm.acknowledged_by);
        object["acknowledged_at"] = seconds_of(*alarm.acknowledged_at);
    }
    return object;
}

/// Whether it was latched. When the station does not run its file is changed, under the lock that the station would
/// take.
Result<bool> acknowledge(const service::AlarmPlace& place, const std::string& alarm, const std::string& person) {
    if (const auto asked = service::ask_to_acknowledge(place, alarm, person); !asked || *asked) {
        if (!asked) return std::unexpected(asked.error());
        return **asked;
    }
    std::optional<datafile::DirectoryLock> of_recorder;
    std::optional<catalogue::HandOffLock> of_hand_off;
    if (place.station == service::hand_off_station) {
        auto lock = WEIR_TRY(catalogue::HandOffLock::take(catalogue::catalogue_path(place.directory)));
        of_hand_off.emplace(std::move(lock));
    } else {
        auto lock = WEIR_TRY(datafile::DirectoryLock::take(place.directory));
        of_recorder.emplace(std::move(lock));
    }
    auto alarms = WEIR_TRY(service::load_alarms(place));
    const auto found = std::ranges::find_if(
        alarms, [&](const service::Alarm& one) { return one.name == alarm && !one.acknowledged_at; });
    if (found == alarms.end()) return false;
    found->acknowledged_by = person;
    found->acknowledged_at = SystemClock().wall();
    WEIR_TRY(service::save_alarms(place, alarms));
    return true;
}

int run_acknowledge(std::span<const Station> stations, const AlarmsOptions& options) {
    const auto person = options.person.empty() ? user_name() : options.person;
    if (!service::valid_person(person)) return fail_usage(weir_alarms, "--by is a name, one line of at most 100 bytes");
    for (const auto& alarm : options.acknowledge) {
        bool done = false;
        for (const auto& station : stations) {
            if (std::ranges::none_of(station.alarms, [&](const service::Alarm& one) { return one.name == alarm; }))
                continue;
            const auto here = acknowledge(station.place, alarm, person);
            if (!here) return fail_with(weir_alarms, here.error());
            done = done || *here;
        }
        if (!done)
            return fail_missing(weir_alarms, fmt::format("no alarm \"{}\" is latched in {}; weir alarms lists them",
                                                         alarm, options.directory.native()));
    }
    return exit_good;
}

/// The alarms of the station when it runs, else those in its file.
Result<> look(Station& station) {
    auto asked = WEIR_TRY(service::ask_alarms(station.place));
    station.running = asked.has_value();
    station.alarms = WEIR_TRY(station.running ? Result<std::vector<service::Alarm>>(std::move(*asked))
                                              : service::load_alarms(station.place));
    return {};
}

int run_alarms(const AlarmsOptions& options) {
    std::error_code error;
    if (!std::filesystem::is_directory(options.directory, error))
        return fail_missing(weir_alarms,
                            fmt::format("{} is not a directory; name the first directory of a recorder with --dir",
                                        options.directory.native()));
    const auto directories = directories_with_alarms(options.directory);
    if (directories.empty())
        return fail_missing(
            weir_alarms,
            fmt::format("no recorder and no hand-off keeps its alarms in {}; name the first directory of a "
                        "recorder, or that of a run, with --dir",
                        options.directory.native()));
    std::vector<Station> stations;
    for (const auto& directory : directories) {
        stations.push_back({.name = "recorder", .place = {.directory = directory}});
        stations.push_back(
            {.name = "hand-off", .place = {.directory = directory, .station = service::hand_off_station}});
    }
    for (auto& station : stations) {
        if (auto looked = look(station); !looked) return fail_with(weir_alarms, looked.error());
    }
    if (!options.acknowledge.empty()) {
        if (const int code = run_acknowledge(stations, options); code != exit_good) return code;
        for (auto& station : stations) {
            if (auto looked = look(station); !looked) return fail_with(weir_alarms, looked.error());
        }
    }
    std::uint64_t latched = 0;
    json::array list;
    std::vector<Table::Column> columns{{"alarm"}, {"state"}, {"raised", Table::Align::right}, {"last"}, {"what"}};
    const bool several = directories.size() > 1;
    if (several) columns.insert(columns.begin(), {"of"});
    Table table(columns);
    for (const auto& station : stations) {
        for (const auto& alarm : station.alarms) {
            latched += alarm.acknowledged_at ? 0U : 1U;
            list.push_back(json_of(station, alarm));
            std::vector<std::string> row{
                alarm.name, alarm.acknowledged_at ? "acknowledged by " + *alarm.acknowledged_by : "LATCHED",
                with_commas(alarm.raised), utc(alarm.last), alarm.report.what};
            if (several) row.insert(row.begin(), station.place.directory.filename().native());
            table.add(std::move(row));
        }
    }
    const int code = latched > 0 && options.acknowledge.empty() ? exit_bad : exit_good;
    if (options.json) {
        const auto runs = [&](std::string_view which) {
            return std::ranges::any_of(
                stations, [&](const Station& station) { return station.running && station.name == which; });
        };
        print_json(json::object{{"alarms", std::move(list)},
                                {"latched", latched},
                                {"recorder_runs", runs("recorder")},
                                {"hand_off_runs", runs("hand-off")}});
        return code;
    }
    if (!table.empty()) print(table.text());
    print("{} latched\n", counted(latched, "alarm"));
    return code;
}

}  // namespace

void add_alarms(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<AlarmsOptions>();
    auto& command =
        add_command(parent, group_look, "alarms", "lists what a recorder or hand-off raised; acknowledges it",
                    "weir alarms --dir data --acknowledge \"sequence gap\"");
    add_value(command, "--dir", options->directory, "D",
              "first directory of a recorder, running or not; or of a run with several");
    add_value(command, "--acknowledge", options->acknowledge, "NAME", "this alarm was seen and dealt with; it is kept");
    add_value(command, "--by", options->person, "PERSON", "who acknowledges; else the user who runs this");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_alarms(*options); }; });
}

}  // namespace weir::app
