// SPDX-License-Identifier: Apache-2.0
// `weir config check | schema | effective`: a partition file read as each of its stations would read it, the keys there
// are, and what is in effect.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "commands.hpp"
#include "output.hpp"
#include "partition_check.hpp"
#include "station_kinds.hpp"
#include "weir/base/file.hpp"

namespace weir::app {
namespace {

constexpr Bytes partition_size_max = 1_MiB;

struct ConfigOptions {
    std::filesystem::path partition;
    std::string station;
    bool json = false;
};

struct ReadStation {
    ListedStation listed;
    std::unique_ptr<StationSettings> settings;  // nullptr: this program has no such kind
};

/// Stands for the file that --source will name: nothing is opened here.
const std::filesystem::path some_source = "SOURCE";

/// Every station reads the file; the first error ends it.
Result<std::vector<ReadStation>> read_all(const ConfigOptions& options, const std::string& text) {
    const auto listed = list_stations(text, options.partition.native());
    if (!listed) return std::unexpected(listed.error());
    std::vector<ReadStation> all;
    StationOptions told;
    told.sources = {some_source};
    PartitionSettings shared;  // also when there is no station
    Settings table;
    shared.declare(table);
    if (auto read = table.read_text(text, options.partition.native()); !read) return std::unexpected(read.error());
    if (auto good = shared.check(); !good) return fail(good.error().code, fmt::format("{}: {}", options.partition.native(), good.error().message()));
    for (const auto& station : *listed) {
        auto settings = settings_of(station.kind);
        if (settings) {
            if (auto place = read_station(text, options.partition.native(), station, *settings, told); !place) return std::unexpected(place.error());
        }
        all.push_back({station, std::move(settings)});
    }
    return all;
}

int run_check(const ConfigOptions& options) {
    const auto text = read_text(options.partition, partition_size_max);
    if (!text) return fail_with("weir config check", text.error());
    const auto all = read_all(options, *text);
    if (!all) return fail_with("weir config check", all.error());
    if (const auto whole = check_partition(options.partition, {some_source}); !whole) return fail_with("weir config check", whole.error());
    if (options.json) {
        json::array stations;
        for (const auto& [station, settings] : *all)
            stations.push_back({{"name", json_text(station.name)}, {"kind", name(station.kind)}, {"id", static_cast<std::uint16_t>(station.id)},
                                {"line", station.line}, {"checked", settings != nullptr}});
        print_json(json::object{{"stations", stations}});
        return exit_good;
    }
    Table table({{"id", Table::Align::right}, {"kind"}, {"station"}, {"line", Table::Align::right}});
    for (const auto& [station, settings] : *all)
        table.add({fmt::to_string(static_cast<std::uint16_t>(station.id)), name(station.kind), station.name, fmt::to_string(station.line)});
    print(table.text());
    print("{}: good, {}\n", options.partition.native(), counted(all->size(), "station"));
    return exit_good;
}

/// What could stand in a partition file.
int run_schema(const ConfigOptions&) {
    PartitionSettings shared;
    std::vector<std::unique_ptr<StationSettings>> kinds;  // the table refers to them
    Settings table;
    shared.declare(table);
    for (const auto kind : station_kinds) {
        auto settings = settings_of(kind);
        if (!settings) continue;
        settings->declare(table, fmt::format("{}.NAME", name(kind)));
        kinds.push_back(std::move(settings));
    }
    print(table.documentation());
    return exit_good;
}

/// The whole file with every key of every station, or of one.
int run_effective(const ConfigOptions& options) {
    const auto text = read_text(options.partition, partition_size_max);
    if (!text) return fail_with("weir config effective", text.error());
    if (const auto all = read_all(options, *text); !all) return fail_with("weir config effective", all.error());
    const auto listed = list_stations(*text, options.partition.native());
    if (!listed) return fail_with("weir config effective", listed.error());
    PartitionSettings shared;
    std::vector<std::unique_ptr<StationSettings>> stations;
    Settings table;
    shared.declare(table);
    bool found = options.station.empty();
    for (const auto& station : *listed) {
        if (!options.station.empty() && station.name != options.station) continue;
        found = true;
        auto settings = settings_of(station.kind);
        if (!settings) continue;
        settings->declare(table, station.section());
        stations.push_back(std::move(settings));
    }
    if (!found) return fail_missing("weir config effective", fmt::format("{} has no station \"{}\"", options.partition.native(), options.station));
    if (auto read = table.read_text(*text, options.partition.native()); !read) return fail_with("weir config effective", read.error());
    print(table.effective());
    return exit_good;
}

void add_part(CLI::App& parent, Command& chosen, const std::string& name, const std::string& description, int (*run)(const ConfigOptions&),
              bool reads) {
    const auto options = std::make_shared<ConfigOptions>();
    auto& command = add_command(parent, group_stations, name, description, "weir config " + name + (reads ? " partition.toml" : ""));
    if (reads) add_value(command, "partition", options->partition, "PARTITION", "the partition's TOML file").required();
    if (name == "effective") add_value(command, "--name", options->station, "NAME", "only this station, and what all share");
    if (name == "check") add_json_flag(command, options->json);
    command.callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
}

}  // namespace

void add_config(CLI::App& parent, Command& chosen) {
    auto& command = add_command(parent, group_stations, "config", "checks a partition file, lists its keys, shows what is in effect",
                                "weir config check partition.toml");
    command.require_subcommand(1);
    add_part(command, chosen, "check", "reads the file as each of its stations would; the first mistake is one line", run_check, true);
    add_part(command, chosen, "schema", "every key with its kind, default and meaning, as Markdown", run_schema, false);
    add_part(command, chosen, "effective", "every key with its value; what differs from the default is marked", run_effective, true);
}

}  // namespace weir::app
