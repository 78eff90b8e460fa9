// SPDX-License-Identifier: Apache-2.0
#include "run/partition/partition_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "stations/frame/partition_settings.hpp"
#include "weir/service/configuration_sections.hpp"

namespace weir::app {
namespace {

using Values = std::map<std::pair<std::string, std::string>, service::SettingValue>;

Result<Values> values_of(std::string_view text) {
    auto listed = WEIR_TRY(service::list_values(text, "the partition file"));
    Values values;
    for (auto& value : listed) values[{std::move(value.section), std::move(value.key)}] = std::move(value.value);
    return values;
}

/// Run control needs it before the station starts: where files and catalogues are.
bool run_control_reads(std::string_view kind, std::string_view key) {
    if (key == "host" || kind == "hosts" || kind == "engine" || kind == "notify") return true;
    if (kind == name(StationKind::record)) return key == "directories" || key == "catalogue";
    return kind == name(StationKind::handoff) && (key == "recorder" || key == "checksum");
}

void add(PartitionChange& change, const std::string& section, const std::string& key) {
    const auto what = fmt::format("[{}] {}", section, key);
    if (section == "run" && key == "lease")
        return change.impossible.push_back(what + " is read when run control starts");
    if (section == "run") return change.at_once.push_back(what);
    const auto dot = section.find('.');
    if (dot == section.npos) return change.impossible.push_back(what + " is of all stations");
    if (run_control_reads(section.substr(0, dot), key))
        return change.impossible.push_back(what + " is read by run control when it starts");
    const auto station = section.substr(dot + 1, section.find('.', dot + 1) - dot - 1);
    if (std::ranges::find(change.anew, station) == change.anew.end()) change.anew.push_back(station);
}

Result<std::vector<std::string>> stations_of(std::string_view text) {
    const auto listed = WEIR_TRY(list_stations(text, "the partition file"));
    std::vector<std::string> sections;
    for (const auto& station : listed) sections.push_back(station.section());
    return sections;
}

}  // namespace

Result<PartitionChange> change_of_partition(std::string_view before, std::string_view now) {
    const auto old = WEIR_TRY(values_of(before));
    const auto fresh = WEIR_TRY(values_of(now));
    const auto stations_before = WEIR_TRY(stations_of(before));
    const auto stations_now = WEIR_TRY(stations_of(now));
    PartitionChange change;
    if (stations_before != stations_now)
        change.impossible.emplace_back("it has other stations, or has them in another order");
    auto all = old;
    all.insert(fresh.begin(), fresh.end());
    for (const auto& [name, value] : all) {
        const auto a = old.find(name), b = fresh.find(name);
        if (a != old.end() && b != fresh.end() && a->second == b->second) continue;
        const auto& [section, key] = name;
        const bool in_both = std::ranges::find(stations_before, section) == stations_before.end() ||
                             std::ranges::find(stations_now, section) != stations_now.end();
        const bool new_station = section.contains('.') &&
                                 std::ranges::find(stations_before, section) == stations_before.end() &&
                                 std::ranges::find(stations_now, section) != stations_now.end();
        if (in_both && !new_station) add(change, section, key);
    }
    return change;
}

}  // namespace weir::app
