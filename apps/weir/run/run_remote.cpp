// SPDX-License-Identifier: Apache-2.0
#include "run/run_remote.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <memory>
#include <optional>

#include "cli/output.hpp"
#include "cli/process/signals.hpp"
#include "run/directory/run_address.hpp"
#include "run/directory/run_directory.hpp"
#include "run/directory/run_place.hpp"
#include "run/session/run_report.hpp"
#include "stations/frame/partition_settings.hpp"
#include "weir/base/file.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/json/parse.hpp"
#include "weir/service/control_client.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr Bytes answer_max = 64_MiB;

struct RemoteOptions {
    std::string command;
    RunAddressOptions run{};
    std::string comment, reason, station, source, person;
    std::vector<std::string> parameters;  // "beam=on"
    std::chrono::seconds wait{120};
    bool follow = false;
    bool force = false;  // also while somebody is in control at the page
    bool json = false;
};

std::string user_name() {
    const auto* const user = ::getpwuid(::getuid());
    return user != nullptr && user->pw_name != nullptr ? user->pw_name : "command";
}

std::string me(const RemoteOptions& options) { return "weir run " + options.command; }

Result<json::value> body_of(const Result<service::ControlAnswer>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (!answer->good()) return fail(answer->status == 400 ? Errc::usage : Errc::refused, answer->error());
    return json::parse(answer->body, {.size = answer_max, .depth = 16});
}

std::string state_of(const json::value& partition) {
    json::Fields fields(partition, "the answer");
    return fields.text("state", "");
}

Result<json::value> partition_of(const service::ControlClient& client) { return body_of(client.get("/partition")); }

/// Between two questions. SIGINT and SIGTERM end it at once, and then the program, as they do at any other time.
void pause(std::chrono::nanoseconds time) {
    const Signals signals;
    static_cast<void>(Signals::pending(time));
}

/// Until the partition has come to one of the states.
Result<json::value> wait_for(const service::ControlClient& client, std::initializer_list<std::string_view> states,
                             std::chrono::seconds at_most, const Clock& clock = system_clock()) {
    const auto end = clock.now() + at_most;
    while (true) {
        auto partition = WEIR_TRY(partition_of(client));
        const auto state = state_of(partition);
        if (std::ranges::find(states, state) != states.end()) return partition;
        if (clock.now() > end)
            return fail(Errc::limit, fmt::format("the partition is {} after {}", state, to_string(at_most)));
        pause(50ms);
    }
}

void show_hosts(const json::object& partition) {
    const auto* hosts = partition.if_contains("hosts");
    if (hosts != nullptr && hosts->is_array() && !hosts->get_array().empty())
        return print("{}", hosts_text(hosts->get_array()));
    print("all stations are on the machine of run control\n");
}

int show(const RemoteOptions& options, const json::value& partition) {
    if (options.json) {
        const auto* object = partition.if_object();
        const auto* hosts = object != nullptr ? object->if_contains("hosts") : nullptr;
        print_json(options.command == "hosts" && hosts != nullptr ? json::value(json::object{{"hosts", *hosts}})
                                                                  : partition);
    } else if (const auto* object = partition.if_object()) {
        if (options.command == "hosts") show_hosts(*object);
        else print_status(*object);
    }
    return exit_good;
}

/// What a run left: its problems, each as a line on stderr.
int complain_of(const RemoteOptions& options, const json::object& result) {
    const auto* problems = result.if_contains("problems");
    if (problems == nullptr || !problems->is_array()) return exit_bad;
    for (const auto& problem : problems->get_array())
        if (!options.json) complain(me(options), problem.is_string() ? std::string_view(problem.get_string()) : "");
    return problems->get_array().empty() ? exit_good : exit_bad;
}

/// What the run that was just stopped left.
int show_result(const RemoteOptions& options, const json::value& partition) {
    const auto* object = partition.if_object();
    const auto* last = object != nullptr ? object->if_contains("last") : nullptr;
    const auto* result = last != nullptr ? last->if_object() : nullptr;
    if (result == nullptr) return show(options, partition);
    if (options.json) print_json(*result);
    else show(options, partition);
    return complain_of(options, *result);
}

Result<service::ControlClient> client_of(const RemoteOptions& options) {
    auto place = WEIR_TRY(find_run(options.run));
    return service::ControlClient(std::move(place.address), answer_max, std::move(place.tls));
}

int fail_to_find(const RemoteOptions& options, const Error& error) {
    return error.code == Errc::refused ? fail_missing(me(options), error.message()) : fail_with(me(options), error);
}

/// Run control took the command and is gone since, as it is when no further run is waited for.
bool has_ended(const RemoteOptions& options) {
    return options.run.at.empty() && !RunPlace::find(options.run.directory);
}

/// Of a run control that has ended.
Result<json::value> result_left(const RemoteOptions& options) {
    const auto file = RunDirectory::result_file(options.run.directory);
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown))
        return fail(Errc::refused, "run control has ended, and no run with it; weir run log shows why");
    const auto text = WEIR_TRY(read_text(file, answer_max));
    auto result = WEIR_TRY(json::parse(text, {.size = answer_max, .depth = 16}));
    if (!result.is_object()) return fail(Errc::corrupt, fmt::format("{} is no result of a run", file.native()));
    return result;
}

int report_end(const RemoteOptions& options) {
    const auto result = result_left(options);
    if (!result) return fail_with(me(options), result.error());
    if (options.json) {
        print_json(result->get_object());
    } else {
        print(
            "the run is over, and run control has ended; weir ls {} shows its files, weir run log --dir {} its "
            "log\n",
            options.run.directory.native(), options.run.directory.native());
    }
    return complain_of(options, result->get_object());
}

std::string names_in(const json::value& answer, const char* list) {
    std::string text;
    json::Fields fields(answer, "the answer");
    const auto* names = fields.array(list, 100'000);
    if (names == nullptr) return text;
    for (const auto& name : *names) {
        if (!name.is_string()) continue;
        text += (text.empty() ? "" : ", ") + printable(std::string_view(name.get_string()));
    }
    return text;
}

/// What came of a partition file that was applied.
int show_applied(const RemoteOptions& options, const json::value& answer) {
    if (options.json) {
        print_json(answer);
        return exit_good;
    }
    const auto at_once = names_in(answer, "at_once"), anew = names_in(answer, "anew");
    if (at_once.empty() && anew.empty()) print("nothing that counts has changed in the file\n");
    if (!at_once.empty()) print("counts from now on: {}\n", at_once);
    if (!anew.empty()) print("started anew: {}\n", anew);
    return exit_good;
}

/// Nobody is in control any more; who was is in the log, with who ended it.
Result<> end_control(const service::ControlClient& client, const RemoteOptions& options) {
    const auto person = json_text(options.person.empty() ? user_name() : options.person);
    const auto taken = WEIR_TRY(
        body_of(client.post("/control", json::serialize(json::object{{"command", "force"}, {"person", person}}))));
    json::Fields fields(taken, "the answer");
    const auto lease = fields.text("lease", "");
    WEIR_TRY(body_of(
        client.post("/control", json::serialize(json::object{{"command", "release"}, {"lease", json_text(lease)}}))));
    return {};
}

void show_alarms(const service::ControlClient& client) {
    const auto answer = body_of(client.get("/alarms"));
    const auto* document = answer ? answer->if_object() : nullptr;
    const auto* alarms = document != nullptr ? document->if_contains("alarms") : nullptr;
    if (alarms != nullptr && alarms->is_array()) print("{}", alarms_text(alarms->get_array()));
}

int run_remote(const RemoteOptions& options) {
    const auto found = client_of(options);
    if (!found) return fail_to_find(options, found.error());
    const auto& client = *found;
    if (options.command == "status" || options.command == "hosts") {
        const auto partition = partition_of(client);
        if (!partition) return fail_with(me(options), partition.error());
        const int shown = show(options, *partition);
        if (options.command == "status" && !options.json) show_alarms(client);
        return shown;
    }
    json::object command{{"command", options.command}};
    if (!options.comment.empty()) command["comment"] = json_text(options.comment);
    if (!options.station.empty()) command["station"] = json_text(options.station);
    if (!options.source.empty()) {
        const auto source = parse_source_id(options.source);
        if (!source) return fail_usage(me(options), fmt::format("\"{}\" is no source; write 0x420000", options.source));
        command["source"] = fmt::format("0x{:x}", number(*source));
        command["person"] = json_text(options.person.empty() ? user_name() : options.person);
    }
    if (!options.reason.empty()) command["reason"] = json_text(options.reason);
    json::object parameters;
    for (const auto& parameter : options.parameters) {
        const auto equals = parameter.find('=');
        if (equals == parameter.npos || equals == 0)
            return fail_usage(me(options), fmt::format("\"{}\" is not a parameter; write NAME=VALUE", parameter));
        parameters[json_text(parameter.substr(0, equals))] = json_text(parameter.substr(equals + 1));
    }
    if (!parameters.empty()) command["parameters"] = std::move(parameters);
    auto wait = options.wait;          // what is left of it
    if (options.command == "start") {  // right behind weir run --wait
        const auto begin = system_clock().now();
        const auto up =
            wait_for(client, {"ready", "starting", "running", "paused", "stopping", "ending", "down"}, wait);
        if (!up) return fail_with(me(options), up.error());
        wait -= std::chrono::floor<std::chrono::seconds>(system_clock().now() - begin);
    }
    if (options.force) {
        if (const auto ended = end_control(client, options); !ended) return fail_with(me(options), ended.error());
    }
    const auto taken = body_of(client.post("/run", json::serialize(command)));
    if (!taken) return fail_with(me(options), taken.error());
    if (options.command == "apply") return show_applied(options, *taken);
    if (options.command == "start" || options.command == "stop") {
        const bool start = options.command == "start";
        const auto partition = start ? wait_for(client, {"running", "paused", "ready", "ending", "down"}, wait)
                                     : wait_for(client, {"ready", "ending", "down"}, wait);
        if (!partition) return has_ended(options) ? report_end(options) : fail_with(me(options), partition.error());
        const auto state = state_of(*partition);
        if (start && (state == "running" || state == "paused")) return show(options, *partition);
        return show_result(options, *partition);  // of a start: it could not start, or is over already
    }
    const auto partition = partition_of(client);
    if (!partition) return fail_with(me(options), partition.error());
    return show(options, *partition);
}

void print_line(const json::value& line) {
    json::Fields fields(line, "a line");
    const auto seconds = fields.real("time", 0.0);
    const auto station = fields.text("station", "");
    const auto* text = line.if_object() != nullptr ? line.get_object().if_contains("text") : nullptr;
    print("{:%H:%M:%S} {:10} {}\n", fmt::gmtime(static_cast<std::time_t>(seconds)), station,
          printable(text != nullptr && text->is_string() ? std::string_view(text->get_string()) : ""));
}

/// What the stations of a run control that has ended left, one file after the other.
int print_log_files(const RemoteOptions& options, const std::vector<std::filesystem::path>& files) {
    for (const auto& path : files) {
        std::ifstream file(path);
        if (!file) return fail_missing(me(options), fmt::format("cannot read {}", path.native()));
        for (std::string line; std::getline(file, line) && output_errno() == 0;) {
            if (options.json) {
                print_json(json::object{{"station", json_text(path.stem().native())}, {"text", json_text(line)}});
            } else {
                print("{:10} {}\n", printable(path.stem().native()), printable(line));
            }
        }
    }
    flush_output();
    return output_errno() == 0 ? exit_good : exit_bad;
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

int run_log(const RemoteOptions& options) {
    const auto found = client_of(options);
    if (!found) {
        const auto files = has_ended(options) ? log_files(options.run.directory) : std::vector<std::filesystem::path>{};
        return files.empty() ? fail_to_find(options, found.error()) : print_log_files(options, files);
    }
    const auto& client = *found;
    std::uint64_t after = 0;
    while (true) {
        const auto page = body_of(client.get(fmt::format("/log?after={}", after)));
        if (!page) {
            if (after > 0) return exit_good;  // it has ended
            const auto files = page.error().code == Errc::io && options.run.at.empty()
                                   ? log_files(options.run.directory)
                                   : std::vector<std::filesystem::path>{};
            return files.empty() ? fail_with(me(options), page.error()) : print_log_files(options, files);
        }
        json::Fields fields(*page, "the answer");
        const auto* lines = fields.array("lines", 100'000);
        if (lines == nullptr)
            return fail_with(me(options), fields.result() ? Error{Errc::corrupt, 0, "no lines in the answer"}
                                                          : fields.result().error());
        for (const auto& line : *lines) {
            if (options.json) {
                print_json(line);
            } else {
                print_line(line);
            }
            json::Fields of_line(line, "a line");
            after = std::max(after, of_line.number("number", after));
        }
        flush_output();
        if (output_errno() != 0) return exit_bad;
        if (!lines->empty()) continue;
        if (!options.follow) return exit_good;
        pause(200ms);
    }
}

}  // namespace

void add_run_remote(CLI::App& run, Command& chosen) {
    struct Word {
        const char* name;
        const char* help;
    };
    for (const auto& [name, help] :
         {Word{"status", "how the partition and its stations are"}, Word{"hosts", "the machines, and their agents"},
          Word{"start", "begins a run"}, Word{"stop", "stops the run"}, Word{"pause", "no more triggers"},
          Word{"resume", "triggers again"}, Word{"replace", "ends a station and starts it again"},
          Word{"mask", "nothing waits for a source any more"}, Word{"unmask", "a source is waited for again"},
          Word{"apply", "between runs: the changed partition file"}, Word{"log", "what the stations reported"}}) {
        auto options = std::make_shared<RemoteOptions>();
        options->command = name;
        const bool replace = options->command == "replace";
        const bool masks = options->command == "mask" || options->command == "unmask";
        const auto* const group = options->command == "apply" ? more_options : group_stations;
        auto& command = add_command(run, group, name, help,
                                    fmt::format("weir run {} {}--dir D", name,
                                                replace ? "ef-1 "
                                                : masks ? "0x420000 "
                                                        : ""));
        if (replace)
            add_value(command, "station", options->station, "STATION", "its name in the partition file").required();
        if (masks) {
            add_value(command, "source", options->source, "SOURCE", "its id, such as 0x420000").required();
            add_value(command, "--person", options->person, "NAME", "who does it; else the user's name");
        }
        declare_run_address(command, options->run);
        if (options->command == "start") {
            add_value(command, "--comment", options->comment, "TEXT", "goes into the catalogue with the run");
            add_value(command, "--parameter", options->parameters, "NAME=VALUE",
                      "goes into the catalogue with the run");
            add_value(command, "--wait", options->wait, "TIME", "at most, until it runs");
        } else if (options->command == "stop") {
            add_value(command, "--reason", options->reason, "TEXT", "goes into the catalogue with the run");
            add_value(command, "--wait", options->wait, "TIME", "at most, until it has stopped");
        } else if (options->command == "log") {
            add_flag(command, "--follow", options->follow, "goes on until run control ends");
        }
        if (options->command != "status" && options->command != "hosts" && options->command != "log")
            add_flag(command, "--force", options->force, "also while somebody is in control at the page: ends that")
                .group(more_options);
        add_json_flag(command, options->json);
        const bool log = options->command == "log";
        command.callback([options, log, &chosen] {
            chosen = [options, log] { return log ? run_log(*options) : run_remote(*options); };
        });
    }
}

}  // namespace weir::app
