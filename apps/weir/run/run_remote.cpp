// SPDX-License-Identifier: Apache-2.0
#include "run/run_remote.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <memory>
#include <optional>

#include "cli/output.hpp"
#include "run/directory/run_directory.hpp"
#include "run/remote_calls.hpp"
#include "run/session/run_report.hpp"
#include "run/stop_progress.hpp"
#include "stations/frame/partition_settings.hpp"
#include "weir/base/file.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/json/parse.hpp"
#include "weir/service/control_client.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

struct RemoteOptions {
    std::string command;
    RunAddressOptions run{};
    std::string comment, reason, station, source, person;
    std::vector<std::string> parameters;  // "beam=on"
    std::chrono::seconds wait{120};
    bool force = false;  // also while somebody is in control at the page
    bool json = false;
};

std::string user_name() {
    const auto* const user = ::getpwuid(::getuid());
    return user != nullptr && user->pw_name != nullptr ? user->pw_name : "command";
}

std::string me(const RemoteOptions& options) { return "weir run " + options.command; }

std::string state_of(const json::value& partition) {
    json::Fields fields(partition, "the answer");
    return fields.text("state", "");
}

Result<json::value> partition_of(const service::ControlClient& client) { return body_of(client.get("/partition")); }

/// Until the partition has come to one of the states. `progress`: shown meanwhile; or nullptr.
Result<json::value> wait_for(const service::ControlClient& client, std::initializer_list<std::string_view> states,
                             std::chrono::seconds at_most, StopProgress* progress = nullptr,
                             const Clock& clock = system_clock()) {
    const auto end = clock.now() + at_most;
    while (true) {
        auto partition = WEIR_TRY(partition_of(client));
        const auto state = state_of(partition);
        if (std::ranges::find(states, state) != states.end()) return partition;
        if (clock.now() > end)
            return fail(Errc::limit, fmt::format("the partition is {} after {}", state, to_string(at_most)));
        if (progress != nullptr) progress->step();
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

/// Below the status: where the page is, and what is wrong with the run that ended last.
void show_page_and_last(const RemoteOptions& options, const json::value& partition) {
    if (const auto place = find_run(options.run))
        print("the page is at {}://{}\n", place->tls ? "https" : "http", place->address);
    json::Fields fields(partition, "the answer");
    const auto* last = fields.object("last");
    if (last == nullptr) return;
    const auto* run = last->if_contains("run");
    const auto* problems = last->if_contains("problems");
    if (run == nullptr || !run->is_number() || problems == nullptr || !problems->is_array()) return;
    for (const auto& problem : problems->get_array())
        if (problem.is_string())
            print("run {} had a problem: {}\n", run->to_number<std::uint64_t>(), printable(problem.get_string()));
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

/// Of a run control that has ended.
Result<json::value> result_left(const RemoteOptions& options) {
    const auto file = RunDirectory::result_file(options.run.directory);
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown))
        return fail(Errc::refused, "run control has ended, and no run with it; weir run log shows why");
    const auto text = WEIR_TRY(read_text(file, remote_answer_max));
    auto result = WEIR_TRY(json::parse(text, {.size = remote_answer_max, .depth = 16}));
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
    const auto found = client_of(options.run);
    if (!found) return fail_without_run(me(options), found.error());
    const auto& client = *found;
    if (options.command == "status" || options.command == "hosts") {
        const auto partition = partition_of(client);
        if (!partition) return fail_without_answer(me(options), partition.error(), options.run);
        const int shown = show(options, *partition);
        if (options.command == "status" && !options.json) {
            show_page_and_last(options, *partition);
            show_alarms(client);
        }
        return shown;
    }
    json::object command{{"command", options.command}};
    if (!options.comment.empty()) command["comment"] = json_text(options.comment);
    if (!options.station.empty()) command["station"] = json_text(options.station);
    if (!options.source.empty()) {
        const auto source = parse_source_id(options.source);
        if (!source) return fail_usage(me(options), fmt::format("\"{}\" is no source; write 0x420000", options.source));
        command["source"] = fmt::format("0x{:x}", number(*source));
    }
    command["person"] = json_text(options.person.empty() ? user_name() : options.person);
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
        if (!up) return fail_without_answer(me(options), up.error(), options.run);
        wait -= std::chrono::floor<std::chrono::seconds>(system_clock().now() - begin);
    }
    if (options.force) {
        if (const auto ended = end_control(client, options); !ended) return fail_with(me(options), ended.error());
    }
    std::optional<StopProgress> progress;
    if (options.command == "stop" && !options.json) progress.emplace(me(options), client, system_clock());
    const auto taken = body_of(client.post("/run", json::serialize(command)));
    if (!taken) return fail_without_answer(me(options), taken.error(), options.run);
    if (options.command == "apply") return show_applied(options, *taken);
    if (options.command == "start" || options.command == "stop") {
        const bool start = options.command == "start";
        const auto partition =
            start ? wait_for(client, {"running", "paused", "ready", "ending", "down"}, wait)
                  : wait_for(client, {"ready", "ending", "down"}, wait, progress ? &*progress : nullptr);
        if (!partition) return has_ended(options.run) ? report_end(options) : fail_with(me(options), partition.error());
        const auto state = state_of(*partition);
        if (start && (state == "running" || state == "paused")) return show(options, *partition);
        return show_result(options, *partition);  // of a start: it could not start, or is over already
    }
    const auto partition = partition_of(client);
    if (!partition) return fail_without_answer(me(options), partition.error(), options.run);
    return show(options, *partition);
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
          Word{"apply", "between runs: the changed partition file"}}) {
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
        }
        if (options->command != "status" && options->command != "hosts")
            add_flag(command, "--force", options->force, "also while somebody is in control at the page: ends that")
                .group(more_options);
        add_json_flag(command, options->json);
        command.callback([options, &chosen] { chosen = [options] { return run_remote(*options); }; });
    }
}

}  // namespace weir::app
