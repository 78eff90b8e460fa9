// SPDX-License-Identifier: Apache-2.0
// `weir alarms`: what a recorder raised and nobody has acknowledged yet. Asks the recorder that runs, else reads its
// file.
#include <fmt/chrono.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "output.hpp"
#include "weir/service/alarm_keeper.hpp"
#include "weir/storage/volume.hpp"

namespace weir::app {
namespace {

constexpr const char* me = "weir alarms";

struct Options {
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

json::object json_of(const Alarm& alarm) {
    json::object object{{"name", json_text(alarm.name)},
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

/// Whether it was latched. Without a recorder its file is changed, under the lock that a recorder would take.
Result<bool> acknowledge(const AlarmPlace& place, const std::string& alarm, const std::string& person) {
    if (const auto asked = ask_to_acknowledge(place, alarm, person); !asked || *asked) {
        if (!asked) return std::unexpected(asked.error());
        return **asked;
    }
    const auto lock = storage::DirectoryLock::take(place.directory);
    if (!lock) return std::unexpected(lock.error());
    auto alarms = load_alarms(place);
    if (!alarms) return std::unexpected(alarms.error());
    const auto found =
        std::ranges::find_if(*alarms, [&](const Alarm& one) { return one.name == alarm && !one.acknowledged_at; });
    if (found == alarms->end()) return false;
    found->acknowledged_by = person;
    found->acknowledged_at = SystemClock().wall();
    if (auto saved = save_alarms(place, *alarms); !saved) return std::unexpected(saved.error());
    return true;
}

int run_acknowledge(const AlarmPlace& place, const Options& options) {
    const auto person = options.person.empty() ? user_name() : options.person;
    if (!valid_person(person)) return fail_usage(me, "--by is a name, one line of at most 100 bytes");
    for (const auto& alarm : options.acknowledge) {
        const auto done = acknowledge(place, alarm, person);
        if (!done) return fail_with(me, done.error());
        if (!*done)
            return fail_missing(me, fmt::format("no alarm \"{}\" is latched in {}; weir alarms lists them", alarm,
                                                place.directory.native()));
    }
    return exit_good;
}

int run_alarms(const Options& options) {
    const AlarmPlace place{.directory = options.directory};
    std::error_code error;
    if (!std::filesystem::is_directory(place.directory, error))
        return fail_missing(me, fmt::format("{} is not a directory; name the first directory of a recorder with --dir",
                                            place.directory.native()));
    if (!options.acknowledge.empty()) {
        if (const int code = run_acknowledge(place, options); code != exit_good) return code;
    }
    auto asked = ask_alarms(place);
    if (!asked) return fail_with(me, asked.error());
    const bool running = asked->has_value();
    auto alarms = running ? Result<std::vector<Alarm>>(std::move(**asked)) : load_alarms(place);
    if (!alarms) return fail_with(me, alarms.error());
    const auto latched = std::ranges::count_if(*alarms, [](const Alarm& alarm) { return !alarm.acknowledged_at; });
    const int code = latched > 0 && options.acknowledge.empty() ? exit_bad : exit_good;
    if (options.json) {
        json::array list;
        for (const auto& alarm : *alarms) list.push_back(json_of(alarm));
        print_json(json::object{{"alarms", std::move(list)}, {"latched", latched}, {"recorder_runs", running}});
        return code;
    }
    Table table({{"alarm"}, {"state"}, {"raised", Table::Align::right}, {"last"}, {"what"}});
    for (const auto& alarm : *alarms) {
        table.add({alarm.name, alarm.acknowledged_at ? "acknowledged by " + *alarm.acknowledged_by : "LATCHED",
                   with_commas(alarm.raised), utc(alarm.last), alarm.report.what});
    }
    if (!table.empty()) print(table.text());
    print("{} latched\n", counted(static_cast<std::uint64_t>(latched), "alarm"));
    return code;
}

}  // namespace

void add_alarms(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<Options>();
    auto& command = add_command(parent, group_look, "alarms", "lists what a recorder raised; acknowledges it by name",
                                "weir alarms --dir data --acknowledge \"sequence gap\"");
    add_value(command, "--dir", options->directory, "D", "first directory of a recorder, running or not");
    add_value(command, "--acknowledge", options->acknowledge, "NAME", "this alarm was seen and dealt with; it is kept");
    add_value(command, "--by", options->person, "PERSON", "who acknowledges; else the user who runs this");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_alarms(*options); }; });
}

}  // namespace weir::app
