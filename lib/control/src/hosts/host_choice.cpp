// SPDX-License-Identifier: Apache-2.0
#include "hosts/host_choice.hpp"

#include <algorithm>
#include <optional>

namespace weir::control {
namespace {

bool is_for(const HostEntry& host, StationKind kind) {
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

}  // namespace

std::map<std::string, std::size_t> homes_of(const Partition& partition) {
    std::map<std::string, std::size_t> homes;
    std::vector<HostLoad> loads(partition.hosts.size());
    const auto settle = [&](const std::string& name, std::size_t home) {
        homes[name] = home;
        ++loads[home].stations;
    };
    for (const auto& station : partition.stations) {  // those that name theirs come first: the others fill up
        const auto named = std::ranges::find(partition.hosts, station.host, &HostEntry::name);
        if (named != partition.hosts.end())
            settle(station.name, static_cast<std::size_t>(named - partition.hosts.begin()));
    }
    for (const auto& station : partition.stations) {
        if (homes.contains(station.name) || station.kind == StationKind::handoff) continue;
        const auto home = emptiest(loads, [&](std::size_t i) { return is_for(partition.hosts[i], station.kind); });
        settle(station.name, home.value_or(0));
    }
    for (const auto& station : partition.stations) {
        if (!homes.contains(station.name)) settle(station.name, homes.at(station.recorder));
    }
    return homes;
}

std::size_t choose_host(const Partition& partition, const StationEntry& station, std::size_t home,
                        const std::vector<HostLoad>& loads) {
    if (stays_on_its_host(station.kind) || loads[home].there) return home;
    const auto there = [&](std::size_t i) { return loads[i].there; };
    const auto fits = [&](std::size_t i) { return there(i) && is_for(partition.hosts[i], station.kind); };
    if (const auto best = emptiest(loads, fits)) return *best;
    return emptiest(loads, there).value_or(home);
}

}  // namespace weir::control
