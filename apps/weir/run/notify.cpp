// SPDX-License-Identifier: Apache-2.0
#include "run/notify.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/output.hpp"
#include "run/partition/notify_settings.hpp"
#include "run/partition/partition_check.hpp"
#include "weir/base/file.hpp"
#include "weir/base/system_clock.hpp"

namespace weir::app {
namespace {

constexpr const char* weir_run_notify = "weir run notify";
constexpr Bytes notify_partition_max = 1_MiB;
const std::filesystem::path notify_source = "SOURCE";  // stands for what --source names: nothing is opened here

struct NotifyOptions {
    std::filesystem::path partition;
    std::string name;  // empty: all
    bool json = false;
};

int run_notify(const NotifyOptions& options) {
    const auto text = read_text(options.partition, notify_partition_max);
    if (!text) return fail_with(weir_run_notify, text.error());
    const auto partition = check_partition(*text, options.partition, {notify_source});
    if (!partition) return fail_with(weir_run_notify, partition.error());
    const auto notifiers = read_notifiers(*text, options.partition);
    if (!notifiers) return fail_with(weir_run_notify, notifiers.error());
    bool found = false, good = true;
    Table table({{"notifier"}, {"", Table::Align::left}, {"what came of it"}});
    json::array results;
    for (const auto& notifier : *notifiers) {
        if (!options.name.empty() && notifier.name != options.name) continue;
        found = true;
        const auto sent = control::send_test(notifier, partition->name, system_clock());
        const auto result = sent ? *sent : sent.error().message();
        good = good && sent;
        table.add({notifier.name, sent ? "good" : "BAD", result});
        results.push_back({{"notifier", notifier.name}, {"good", sent.has_value()}, {"result", json_text(result)}});
    }
    if (!found)
        return fail_missing(weir_run_notify,
                            options.name.empty()
                                ? fmt::format("{} has no notifier; see [notify.NAME] in docs/notifications.md",
                                              options.partition.native())
                                : fmt::format("{} has no notifier \"{}\"", options.partition.native(), options.name));
    if (options.json) print_json(json::object{{"notifiers", std::move(results)}});
    else print("{}", table.text());
    return good ? exit_good : exit_bad;
}

}  // namespace

void add_run_notify(CLI::App& run, Command& chosen) {
    auto options = std::make_shared<NotifyOptions>();
    auto& command = add_command(run, more_options, "notify", "a test message to the notifiers of a partition file",
                                "weir run notify partition.toml chat");
    add_value(command, "partition", options->partition, "PARTITION", "the partition's TOML file").required();
    add_value(command, "name", options->name, "NAME", "of a section [notify.NAME]; else all");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_notify(*options); }; });
}

}  // namespace weir::app
