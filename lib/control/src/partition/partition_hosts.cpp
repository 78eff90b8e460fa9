// SPDX-License-Identifier: Apache-2.0
#include "partition/partition_hosts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weir/base/suggest.hpp"
#include "weir/service/configuration.hpp"

namespace weir::control {
namespace {

constexpr std::string_view hosts_section = "hosts";

std::unexpected<Error> wrong(const Partition& partition, std::size_t line, std::string_view what) {
    return fail(Errc::usage, fmt::format("{}:{}: {}", partition.file.native(), line, what));
}

std::vector<std::string> kind_names() {
    std::vector<std::string> names;
    for (const auto kind : station_kinds) names.emplace_back(name(kind));
    return names;
}

Result<HostEntry> read_host(const Partition& partition, const service::ConfigurationSection& section,
                            std::string_view text) {
    HostEntry host;
    host.line = section.line;
    if (section.path.size() > hosts_section.size()) host.name = section.path.substr(hosts_section.size() + 1);
    if (!is_station_name(host.name))
        return wrong(partition, section.line,
                     fmt::format("[{}]: a machine's section is [hosts.NAME], with letters, digits, - and _, 64 at most",
                                 section.path));
    std::vector<std::string> kinds;
    service::Settings settings;
    settings.add(section.path, "address", host.address, "of its agent's port");
    settings.add(section.path, "kinds", kinds, "of stations that are placed there when they name no host; empty: all")
        .each([](const std::string& kind) -> Result<> {
            if (parse_station_kind(kind)) return {};
            return fail(Errc::usage, fmt::format("is no kind of station{}; there are {}",
                                                 did_you_mean(kind, kind_names()), fmt::join(kind_names(), ", ")));
        });
    for (const auto* shared : {"partition", "data", "network", "security", "run", "hosts.*"})
        settings.ignore_section(shared);
    for (const auto& kind : kind_names()) settings.ignore_section(kind + ".*");
    WEIR_TRY(settings.read_text(text, partition.file.native()));
    if (host.address.empty())
        return wrong(partition, section.line,
                     fmt::format("[{}] has no address; where does its agent listen? address = \"10.77.0.11:7400\"",
                                 section.path));
    if (const auto colon = host.address.rfind(':'); colon == host.address.npos || colon + 1 == host.address.size())
        return wrong(
            partition, section.line,
            fmt::format("[{}] address = \"{}\" has no port; write \"10.77.0.11:7400\"", section.path, host.address));
    for (const auto& kind : kinds) host.kinds.push_back(parse_station_kind(kind).value_or(StationKind::readout));
    return host;
}

}  // namespace

Result<> find_hosts(Partition& partition, const std::vector<FileSection>& sections, std::string_view text) {
    std::vector<std::string> names;
    for (const auto& [section, station] : sections) {
        if (section.path.substr(0, section.path.find('.')) != hosts_section) continue;
        if (section.path == hosts_section && !section.has_values) continue;  // it has machines below it
        auto host = WEIR_TRY(read_host(partition, section, text));
        for (const auto& other : partition.hosts) {
            if (other.address == host.address)
                return wrong(
                    partition, section.line,
                    fmt::format("[{}] has the address of [hosts.{}] (line {})", section.path, other.name, other.line));
        }
        if (partition.hosts.size() == hosts_max)
            return wrong(partition, section.line, fmt::format("more than {} machines", hosts_max));
        names.push_back(host.name);
        partition.hosts.push_back(std::move(host));
    }
    for (auto& station : partition.stations) {
        const auto own = std::ranges::find_if(
            sections, [&](const FileSection& section) { return section.section.path == station.section(); });
        const auto named = std::ranges::find(own->section.texts, "host", &service::SectionText::key);
        if (named == own->section.texts.end() || named->text.empty()) continue;
        if (std::ranges::find(names, named->text) == names.end())
            return wrong(partition, named->line,
                         fmt::format("host = \"{}\" of [{}]: there is no [hosts.{}]{}", named->text, station.section(),
                                     named->text, did_you_mean(named->text, names)));
        station.host = named->text;
    }
    for (const auto& station : partition.stations) {
        if (station.kind != StationKind::handoff || station.host.empty()) continue;
        const auto* recorder = partition.find(station.recorder);
        if (recorder != nullptr && recorder->host != station.host)
            return wrong(partition, station.line,
                         fmt::format("[{}] reads the files of {} and is on its machine; remove host, or name the same",
                                     station.section(), station.recorder));
    }
    return {};
}

}  // namespace weir::control
