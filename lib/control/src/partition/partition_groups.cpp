// SPDX-License-Identifier: Apache-2.0
#include "partition/partition_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "hosts/host_choice.hpp"

namespace weir::control {
namespace {

std::unexpected<Error> wrong_group(const Partition& partition, std::size_t line, std::string_view what) {
    return fail(Errc::usage, fmt::format("{}:{}: {}", partition.file.native(), line, what));
}

/// ":7400", or with the network of the nodes before it, which the agents there look at more closely.
bool is_port_of_any_node(std::string_view address) {
    const auto colon = address.rfind(':');
    if (colon == address.npos) return false;
    const auto network = address.substr(0, colon);
    const bool known = network.find_first_not_of("0123456789abcdefABCDEF.:/") == network.npos && network.contains('/');
    if (!network.empty() && !known) return false;
    address.remove_prefix(colon + 1);
    std::uint16_t port = 0;
    const auto [end, failed] = std::from_chars(address.data(), address.data() + address.size(), port);
    return failed == std::errc{} && end == address.data() + address.size() && port != 0;
}

/// For the name of a job, which squeue takes in a list.
std::string simple(std::string name) {
    for (auto& c : name)
        if (!is_station_name(std::string_view(&c, 1))) c = '-';
    return name.substr(0, 64);
}

}  // namespace

void HostGroup::declare(service::Settings& settings, const std::string& section) {
    settings.add(section, "count", count_, "machines whose nodes Slurm chooses: NAME-1, NAME-2, ...; 0: no group");
    settings.add(section, "spare", spare_, "machines more, for the stations of one that is lost");
    settings.add(section, "min", min_, "no station starts before so many of them are there; 0: each by itself");
    settings.add(section, "constraint", constraint_, "of the nodes, as sbatch takes it; empty: none");
    settings.add(section, "pinned", pinned_, "true: a machine keeps the node that it had");
}

bool HostGroup::any() const noexcept {
    return count_ != 0 || spare_ != 0 || min_ != 0 || !constraint_.empty() || pinned_;
}

Result<> HostGroup::check(const Partition& partition, HostEntry& host) const {
    const auto no = [&](const std::string& what) {
        return wrong_group(partition, host.line, fmt::format("[hosts.{}] {}", host.name, what));
    };
    if (count_ == 0)
        return no("has spare, min, constraint or pinned, which are of a group; write count = N for its machines");
    if (count_ > hosts_max || spare_ > hosts_max - count_)
        return no(fmt::format("has more than {} machines with count and spare", hosts_max));
    if (host.start.engine != EngineKind::slurm)
        return no("has count, and only Slurm can choose machines; write engine = \"slurm\"");
    if (!host.start.machine.empty())
        return no("has machine beside count, and Slurm chooses the nodes; remove one of the two");
    if (!is_port_of_any_node(host.address))
        return no(
            fmt::format("has address = \"{}\", and the nodes of a group have their own; write the port alone, as "
                        "address = \":7400\", or their network before it, \"10.77.0.0/16:7400\"",
                        host.address));
    if (min_ > count_ + spare_)
        return no(fmt::format("has min = {} and only {} machines; write less", min_, count_ + spare_));
    if (!is_station_name(fmt::format("{}-{}", host.name, count_ + spare_)))
        return no("has a name that is too long with the number of a machine behind it; 64 letters at most");
    for (const auto kind : host.kinds)
        if (stays_on_its_host(kind) && !pinned_)
            return no(
                fmt::format("is for {} stations, which keep files or hardware on their machine; write pinned = "
                            "true, so that a machine keeps its node",
                            name(kind)));
    host.group = host.name;
    host.pinned = pinned_;
    host.group_min = min_;
    host.start.constraint = constraint_;
    return {};
}

std::vector<HostEntry> HostGroup::machines_of(HostEntry host, const Partition& partition) const {
    if (!host.in_group()) return {std::move(host)};
    std::vector<HostEntry> machines(count_ + spare_, host);
    for (std::size_t i = 0; i < machines.size(); ++i) {
        auto& machine = machines[i];
        machine.name = fmt::format("{}-{}", host.group, i + 1);
        machine.spare = i >= count_;
        machine.start.job = fmt::format("weir-{}-{}", simple(partition.name), machine.name);
        // A node may be another machine of the group the next time, or the file system one that all nodes share.
        if (!machine.start.join.empty()) machine.start.certificates += "/" + machine.name;
    }
    return machines;
}

Result<> check_stays(const Partition& partition, const StationEntry& station, std::size_t line) {
    if (!stays_on_its_host(station.kind)) return {};
    for (const auto& host : partition.hosts) {
        if ((host.name != station.host && host.group != station.host) || may_stay(host)) continue;
        return wrong_group(partition, line,
                           fmt::format("[{}] keeps files or hardware on its machine, and those of [hosts.{}] may get "
                                       "another node; write pinned = true there",
                                       station.section(), host.group));
    }
    return {};
}

Result<> check_places(const Partition& partition) {
    if (partition.hosts.empty()) return {};
    for (const auto& station : partition.stations) {
        if (!stays_on_its_host(station.kind) || std::ranges::any_of(partition.hosts, may_stay)) continue;
        return wrong_group(partition, station.line,
                           fmt::format("[{}] keeps files or hardware on its machine, and all machines may get another "
                                       "node; write pinned = true in [hosts.{}]",
                                       station.section(), partition.hosts.front().group));
    }
    return {};
}

}  // namespace weir::control
