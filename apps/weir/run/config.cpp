// SPDX-License-Identifier: Apache-2.0
// `weir config check | schema | effective`: a partition file checked as `weir run` checks it, the keys there are, and
// what is in effect.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "cli/output.hpp"
#include "run/commands.hpp"
#include "run/partition/certificate_check.hpp"
#include "run/partition/notify_settings.hpp"
#include "run/partition/partition_check.hpp"
#include "run/partition/run_settings.hpp"
#include "stations/station_kinds.hpp"
#include "weir/base/file.hpp"
#include "weir/base/system_clock.hpp"

namespace weir::app {
namespace {

constexpr Bytes partition_size_max = 1_MiB;

struct ConfigOptions {
    std::filesystem::path partition;
    std::string station;
    bool json = false;
};

/// Stands for the file that --source will name: nothing is opened here.
const std::filesystem::path some_source = "SOURCE";

/// The check of `weir run`, and nothing else.
int run_check(const ConfigOptions& options) {
    const auto text = read_text(options.partition, partition_size_max);
    if (!text) return fail_with("weir config check", text.error());
    const auto partition = check_partition(*text, options.partition, {some_source});
    if (!partition) return fail_with("weir config check", partition.error());
    if (const auto good = check_certificates(*text, options.partition, system_clock().wall()); !good)
        return fail_with("weir config check", good.error());
    if (const auto good = read_notifiers(*text, options.partition); !good)
        return fail_with("weir config check", good.error());
    if (options.json) {
        json::array stations;
        for (const auto& station : partition->stations)
            stations.push_back({{"name", json_text(station.name)},
                                {"kind", name(station.kind)},
                                {"id", static_cast<std::uint16_t>(station.id)},
                                {"line", station.line}});
        print_json(json::object{{"stations", stations}});
        return exit_good;
    }
    Table table({{"id", Table::Align::right}, {"kind"}, {"station"}, {"line", Table::Align::right}});
    for (const auto& station : partition->stations)
        table.add({fmt::to_string(static_cast<std::uint16_t>(station.id)), name(station.kind), station.name,
                   fmt::to_string(station.line)});
    print(table.text());
    print("{}: good, {}\n", options.partition.native(), counted(partition->stations.size(), "station"));
    return exit_good;
}

/// What could stand in a partition file.
int run_schema(const ConfigOptions&) {
    PartitionSettings shared;
    RunSettings of_run;
    std::vector<std::unique_ptr<StationSettings>> kinds;  // the table refers to them
    service::Settings table;
    NotifySettings notify;
    shared.declare(table);
    of_run.declare(table);
    notify.declare(table, "notify.NAME");
    for (const auto kind : station_kinds) {
        auto settings = settings_of(kind);
        if (!settings) continue;
        settings->declare_all(table, fmt::format("{}.NAME", name(kind)));
        kinds.push_back(std::move(settings));
    }
    print(table.documentation());
    return exit_good;
}

/// The whole file with every key of every station, or of one.
int run_effective(const ConfigOptions& options) {
    const auto text = read_text(options.partition, partition_size_max);
    if (!text) return fail_with("weir config effective", text.error());
    const auto listed = list_stations(*text, options.partition.native());
    if (!listed) return fail_with("weir config effective", listed.error());
    PartitionSettings shared;
    RunSettings of_run;
    std::vector<std::unique_ptr<StationSettings>> stations;
    service::Settings table;
    shared.declare(table);
    if (options.station.empty()) of_run.declare(table);
    auto notifiers = list_notifiers(*text, options.partition.native());
    if (!notifiers) return fail_with("weir config effective", notifiers.error());
    std::vector<std::unique_ptr<NotifySettings>> of_notifiers;
    for (const auto& listed_one : *notifiers) {
        if (!options.station.empty()) break;
        of_notifiers.push_back(std::make_unique<NotifySettings>());  // with the defaults
        of_notifiers.back()->declare(table, "notify." + listed_one.options.name);
    }
    bool found = options.station.empty();
    for (const auto& station : *listed) {
        if (!options.station.empty() && station.name != options.station) continue;
        found = true;
        auto settings = settings_of(station.kind);
        if (!settings) continue;
        settings->declare_all(table, station.section());
        stations.push_back(std::move(settings));
    }
    if (!found)
        return fail_missing("weir config effective",
                            fmt::format("{} has no station \"{}\"", options.partition.native(), options.station));
    if (auto read = table.read_text(*text, options.partition.native()); !read)
        return fail_with("weir config effective", read.error());
    print(table.effective());
    return exit_good;
}

void add_part(CLI::App& parent, Command& chosen, const std::string& name, const std::string& description,
              int (*run)(const ConfigOptions&), bool reads) {
    const auto options = std::make_shared<ConfigOptions>();
    auto& command = add_command(parent, group_stations, name, description,
                                "weir config " + name + (reads ? " partition.toml" : ""));
    if (reads) add_value(command, "partition", options->partition, "PARTITION", "the partition's TOML file").required();
    if (name == "effective")
        add_value(command, "--name", options->station, "NAME", "only this station, and what all share");
    if (name == "check") add_json_flag(command, options->json);
    command.callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
}

}  // namespace

void add_config(CLI::App& parent, Command& chosen) {
    auto& command = add_command(parent, group_stations, "config",
                                "checks a partition file, lists its keys, shows what is in effect",
                                "weir config check partition.toml");
    command.require_subcommand(1);
    add_part(command, chosen, "check", "what weir run checks before it starts anything; the first mistake is one line",
             run_check, true);
    add_part(command, chosen, "schema", "every key with its kind, default and meaning, as Markdown", run_schema, false);
    add_part(command, chosen, "effective", "every key with its value; what differs from the default is marked",
             run_effective, true);
}

}  // namespace weir::app
