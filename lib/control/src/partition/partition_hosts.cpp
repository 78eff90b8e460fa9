// SPDX-License-Identifier: Apache-2.0
#include "partition/partition_hosts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "partition/partition_groups.hpp"
#include "weir/base/suggest.hpp"
#include "weir/service/configuration.hpp"

namespace weir::control {
namespace {

constexpr std::string_view hosts_section = "hosts";
constexpr std::string_view engine_section = "engine";

std::unexpected<Error> wrong(const Partition& partition, std::size_t line, std::string_view what) {
    return fail(Errc::usage, fmt::format("{}:{}: {}", partition.file.native(), line, what));
}

std::vector<std::string> kind_names() {
    std::vector<std::string> names;
    for (const auto kind : station_kinds) names.emplace_back(name(kind));
    return names;
}

/// Sections that others read.
void ignore_others(service::Settings& settings) {
    for (const auto* shared : {"partition", "data", "network", "security", "run", "hosts.*", "engine.*", "notify.*"})
        settings.ignore_section(shared);
    for (const auto& kind : kind_names()) settings.ignore_section(kind + ".*");
}

void add_start(service::Settings& settings, const std::string& section, AgentStart& start) {
    settings.add(section, "program", start.program, "weir there, for an engine; empty: \"weir\"");
    settings.add(section, "dir", start.directory, "of the agent there, for an engine");
    settings.add(section, "certificates", start.certificates,
                 "directory there with host.crt, host.key and ca.crt, for an engine");
    settings.add(section, "join", start.join,
                 "run control's port for joins, where the machine gets its certificate; empty: it has one");
}

Result<> read_engine(Partition& partition, const service::ConfigurationSection& section, std::string_view text) {
    const auto kind = section.path.size() > engine_section.size()
                          ? parse_engine_kind(section.path.substr(engine_section.size() + 1))
                          : std::nullopt;
    if (!kind)
        return wrong(partition, section.line,
                     fmt::format("[{}] is no engine; there are [engine.ssh] and [engine.slurm]", section.path));
    auto& start = *kind == EngineKind::ssh ? partition.ssh : partition.slurm;
    service::Settings settings;
    add_start(settings, section.path, start);
    if (*kind == EngineKind::ssh)
        settings.add(section.path, "command", start.command, "the client of ssh, and its options; empty: \"ssh\"");
    else settings.add(section.path, "options", start.options, "of sbatch, for each job");
    ignore_others(settings);
    return settings.read_text(text, partition.file.native());
}

/// Only this machine reaches it.
bool is_loopback(std::string_view address) {
    return address.starts_with("127.") || address.starts_with("localhost:") || address.starts_with("[::1]:");
}

/// What the machine does not say is that of its engine's section.
Result<> complete(const Partition& partition, HostEntry& host) {
    auto& start = host.start;
    const auto& shared = start.engine == EngineKind::ssh ? partition.ssh : partition.slurm;
    const auto or_shared = [](std::string& own, const std::string& other, std::string_view otherwise = {}) {
        if (own.empty()) own = other.empty() ? otherwise : other;
    };
    if (!host.in_group()) or_shared(start.machine, host.name);
    if (!host.in_group()) start.job = "weir-" + host.name;
    or_shared(start.program, shared.program, "weir");
    or_shared(start.directory, shared.directory);
    or_shared(start.certificates, shared.certificates);
    or_shared(start.join, shared.join);
    start.command = shared.command;
    if (start.command.empty()) start.command = {"ssh"};
    start.options = shared.options;
    const auto lacks = [&](std::string_view key, std::string_view example, std::string_view why) {
        return wrong(partition, host.line,
                     fmt::format("[hosts.{0}] is brought by {1} and has no {2}{3}; write {2} = \"{4}\" there or in "
                                 "[engine.{1}]",
                                 host.name, name(start.engine), key, why, example));
    };
    if (start.directory.empty()) return lacks("dir", "/data/weir", " for its agent");
    if (!start.directory.starts_with('/'))
        return wrong(partition, host.line,
                     fmt::format("dir = \"{}\" of [hosts.{}] is not from the root; write \"/data/weir\"",
                                 start.directory, host.name));
    if (start.certificates.empty() && !is_loopback(host.address))
        return lacks("certificates", "/etc/weir", ", and beyond 127.0.0.1 its agent needs them");
    if (!start.join.empty() && start.certificates.empty())
        return lacks("certificates", "/data/weir/certificates", " for what it gets where it joins");
    if (start.machine.starts_with('-'))
        return wrong(partition, host.line,
                     fmt::format("machine = \"{}\" of [hosts.{}] is an option", start.machine, host.name));
    return {};
}

/// `group`: what of its keys are those of a group, for which the entry stands then.
Result<HostEntry> read_host(const Partition& partition, const service::ConfigurationSection& section,
                            std::string_view text, HostGroup& group) {
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
    std::string engine;
    settings.add(section.path, "engine", engine, "that starts its agent; empty: it runs already")
        .one_of({"", "ssh", "slurm"});
    settings.add(section.path, "machine", host.start.machine, "as its engine calls it; empty: NAME");
    add_start(settings, section.path, host.start);
    group.declare(settings, section.path);
    ignore_others(settings);
    WEIR_TRY(settings.read_text(text, partition.file.native()));
    host.start.engine = parse_engine_kind(engine).value_or(EngineKind::none);
    for (const auto& kind : kinds) host.kinds.push_back(parse_station_kind(kind).value_or(StationKind::readout));
    if (group.any()) {
        WEIR_TRY(group.check(partition, host));
        return host;
    }
    if (host.address.empty())
        return wrong(partition, section.line,
                     fmt::format("[{}] has no address; where does its agent listen? address = \"10.77.0.11:7400\"",
                                 section.path));
    if (const auto colon = host.address.rfind(':'); colon == host.address.npos || colon + 1 == host.address.size())
        return wrong(
            partition, section.line,
            fmt::format("[{}] address = \"{}\" has no port; write \"10.77.0.11:7400\"", section.path, host.address));
    return host;
}

}  // namespace

std::string_view name(EngineKind kind) noexcept {
    switch (kind) {
        case EngineKind::none: return "none";
        case EngineKind::ssh: return "ssh";
        case EngineKind::slurm: return "slurm";
    }
    return {};
}

std::optional<EngineKind> parse_engine_kind(std::string_view text) noexcept {
    for (const auto kind : {EngineKind::ssh, EngineKind::slurm})
        if (text == name(kind)) return kind;
    return std::nullopt;
}

Result<> set_engine(Partition& partition, EngineKind engine) {
    for (auto& host : partition.hosts) {
        if (host.start.engine != EngineKind::none) continue;
        host.start.engine = engine;
        WEIR_TRY(complete(partition, host));
    }
    return {};
}

Result<> find_hosts(Partition& partition, const std::vector<FileSection>& sections, std::string_view text) {
    std::vector<std::string> names;  // that a station may name
    for (const auto& [section, station] : sections) {
        if (section.path == engine_section && !section.has_values) continue;
        if (section.path.substr(0, section.path.find('.')) == engine_section)
            WEIR_TRY(read_engine(partition, section, text));
    }
    for (const auto& [section, station] : sections) {
        if (section.path.substr(0, section.path.find('.')) != hosts_section) continue;
        if (section.path == hosts_section && !section.has_values) continue;  // it has machines below it
        HostGroup group;
        auto host = WEIR_TRY(read_host(partition, section, text, group));
        if (host.start.engine != EngineKind::none) WEIR_TRY(complete(partition, host));
        if (host.in_group()) names.push_back(host.name);
        for (auto& machine : group.machines_of(std::move(host), partition)) {
            for (const auto& other : partition.hosts) {
                if (other.name == machine.name || other.name == machine.group || other.group == machine.name)
                    return wrong(partition, section.line,
                                 fmt::format("[{}] has a machine {}, which is another one of line {}; rename one",
                                             section.path, machine.name, other.line));
                if (other.address == machine.address && !machine.in_group())
                    return wrong(partition, section.line,
                                 fmt::format("[{}] has the address of [hosts.{}] (line {})", section.path, other.name,
                                             other.line));
            }
            if (partition.hosts.size() == hosts_max)
                return wrong(partition, section.line, fmt::format("more than {} machines", hosts_max));
            if (!machine.spare) names.push_back(machine.name);
            partition.hosts.push_back(std::move(machine));
        }
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
        WEIR_TRY(check_stays(partition, station, named->line));
    }
    WEIR_TRY(check_places(partition));
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
