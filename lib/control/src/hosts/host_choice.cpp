// SPDX-License-Identifier: Apache-2.0
#include "hosts/host_choice.hpp"

#include <algorithm>
#include <optional>

namespace weir::control {
namespace {

bool is_for(const HostEntry& host, StationKind kind) {
    if (stays_on_its_host(kind) && !may_stay(host)) return false;
    return host.kinds.empty() || std::ranges::find(host.kinds, kind) != host.kinds.end();
}

/// Of those that fit, the one with the fewest stations; the first of equals.
template <class Fits>
std::optional<std::size_t> emptiest(const std::vector<HostLoad>& loads, const Fits& fits) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < loads.size(); ++i) {
        if (fits(i) && (!best || loads[i].stations < loads[*best].stations)) best = i;
    }
    return best;
}

/// Where none is for the kind.
std::size_t first_for(const std::vector<HostEntry>& hosts, StationKind kind) {
    const auto found = std::ranges::find_if(
        hosts, [&](const HostEntry& host) { return !host.spare && (!stays_on_its_host(kind) || may_stay(host)); });
    return found == hosts.end() ? 0 : static_cast<std::size_t>(found - hosts.begin());
}

}  // namespace

std::map<std::string, std::size_t> homes_of(const Partition& partition) {
    const auto& hosts = partition.hosts;
    std::map<std::string, std::size_t> homes;
    std::vector<HostLoad> loads(hosts.size());
    const auto settle = [&](const std::string& name, std::size_t home) {
        homes[name] = home;
        ++loads[home].stations;
    };
    for (const auto& station : partition.stations) {  // those that name theirs come first: the others fill up
        const auto named = std::ranges::find(hosts, station.host, &HostEntry::name);
        if (named != hosts.end()) settle(station.name, static_cast<std::size_t>(named - hosts.begin()));
    }
    for (const auto& station : partition.stations) {
        if (station.host.empty() || homes.contains(station.name)) continue;
        const auto of_group = [&](std::size_t i) { return hosts[i].group == station.host && !hosts[i].spare; };
        if (const auto home = emptiest(loads, of_group)) settle(station.name, *home);
    }
    for (const auto& station : partition.stations) {
        if (homes.contains(station.name) || station.kind == StationKind::handoff) continue;
        const auto home =
            emptiest(loads, [&](std::size_t i) { return !hosts[i].spare && is_for(hosts[i], station.kind); });
        settle(station.name, home.value_or(first_for(hosts, station.kind)));
    }
    for (const auto& station : partition.stations) {
        if (!homes.contains(station.name)) settle(station.name, homes.at(station.recorder));
    }
    return homes;
}

std::size_t choose_host(const Partition& partition, const StationEntry& station, std::size_t home,
                        const std::vector<HostLoad>& loads) {
    if (stays_on_its_host(station.kind) || loads[home].there) return home;
    const auto& hosts = partition.hosts;
    const auto there = [&](std::size_t i) { return loads[i].there; };
    const auto fits = [&](std::size_t i) { return there(i) && is_for(hosts[i], station.kind); };
    const auto stands_in = [&](std::size_t i) {
        return hosts[i].spare && fits(i) && loads[i].stations < loads[home].at_home;
    };
    const auto& group = hosts[home].group;
    if (const auto best = emptiest(loads, [&](std::size_t i) { return stands_in(i) && hosts[i].group == group; }))
        return *best;
    if (const auto best = emptiest(loads, stands_in)) return *best;
    const auto named = [&](std::size_t i) { return there(i) && hosts[i].group == station.host; };
    if (!station.host.empty()) {
        if (const auto best = emptiest(loads, named)) return *best;
    }
    if (const auto best = emptiest(loads, fits)) return *best;
    return emptiest(loads, there).value_or(home);
}

}  // namespace weir::control
