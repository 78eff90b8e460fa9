// SPDX-License-Identifier: Apache-2.0
#include "weir/control/partition.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "partition/partition_file.hpp"
#include "partition/partition_hosts.hpp"
#include "weir/base/source_id.hpp"
#include "weir/base/suggest.hpp"

namespace weir::control {
namespace {

std::unexpected<Error> wrong(const std::filesystem::path& file, std::size_t line, std::string_view what) {
    return fail(Errc::usage, line > 0 ? fmt::format("{}:{}: {}", file.native(), line, what)
                                      : fmt::format("{}: {}", file.native(), what));
}

/// "127.0.0.1:9000" with a fixed port; nothing for port 0 or what is no address.
bool fixed_port(std::string_view address) {
    const auto colon = address.rfind(':');
    if (colon == address.npos) return false;
    std::uint16_t port = 0;
    const auto digits = address.substr(colon + 1);
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    return ec == std::errc{} && end == digits.data() + digits.size() && port != 0;
}

/// "localhost:9000" and "127.0.0.1:9000" are one place.
std::string place(std::string_view address) {
    if (address.starts_with("localhost:")) return fmt::format("127.0.0.1{}", address.substr(9));
    return std::string(address);
}

Result<> check_ports(const std::filesystem::path& file, const std::vector<FileSection>& sections) {
    struct User {
        std::string section, key;
        std::size_t line;
    };
    std::map<std::string, User> users;
    for (const auto& [section, station] : sections) {
        if (!station) continue;
        for (const auto& value : section.texts) {
            const bool udp = value.key == "input_udp";  // its ports are others than those of TCP
            const bool opens_it = udp || value.key == "listen" || value.key == "control" || value.key == "metrics" ||
                                  value.key == "input";
            if (!opens_it || !fixed_port(value.text)) continue;
            const auto [user, fresh] =
                users.try_emplace((udp ? "udp " : "") + place(value.text), User{section.path, value.key, value.line});
            if (!fresh)
                return wrong(file, value.line,
                             fmt::format("{} = \"{}\" of [{}] is the port of [{}] already (line {}); give each its "
                                         "own, or port 0 for a free one",
                                         value.key, value.text, section.path, user->second.section, user->second.line));
        }
    }
    return {};
}

/// A share of a file's sources: from (number - 1)/of to number/of of them.
struct FilePart {
    std::uint32_t number = 1, of = 1;
    std::size_t line = 0;
};

/// Nothing: it is no such text, which its station reports better.
std::optional<FilePart> parse_file_part(const service::SectionText& text) {
    FilePart part{.line = text.line};
    const auto* end = text.text.data() + text.text.size();
    const auto first = std::from_chars(text.text.data(), end, part.number);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '/') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, part.of);
    if (second.ec != std::errc{} || second.ptr != end || part.number < 1 || part.number > part.of) return std::nullopt;
    return part;
}

/// Readouts that replay shares of one file have all of it together: a forgotten one would be missing from every event.
Result<> check_parts(const std::filesystem::path& file, const std::vector<FileSection>& sections) {
    std::map<std::string, std::vector<FilePart>> parts_of;  // by raw file; "": the one of --source
    std::set<std::string> unknown;                          // files of which a readout chooses sources in another way
    for (const auto& [section, station] : sections) {
        if (!station || station->kind != StationKind::readout) continue;
        const auto find = [&](std::string_view key) {
            const auto found = std::ranges::find(section.texts, key, &service::SectionText::key);
            return found == section.texts.end() ? nullptr : &*found;
        };
        if (const auto* source = find("source"); source == nullptr || source->text != "file") continue;
        const auto* named = find("file");
        const auto raw = named != nullptr ? named->text : std::string{};
        const auto* share = find("part");
        const auto part = share != nullptr ? parse_file_part(*share) : FilePart{.line = section.line};
        if (part && find("sources") == nullptr) {
            parts_of[raw].push_back(*part);
        } else {
            unknown.insert(raw);
        }
    }
    for (auto& [raw, parts] : parts_of) {
        if (unknown.contains(raw)) continue;
        const auto below = [](std::uint64_t a, std::uint64_t of_a, std::uint64_t b, std::uint64_t of_b) {
            return a * of_b < b * of_a;
        };
        std::ranges::sort(
            parts, [&](const FilePart& a, const FilePart& b) { return below(a.number - 1, a.of, b.number - 1, b.of); });
        FilePart reached{.number = 0, .of = 1};
        const auto gap = [&](std::uint32_t to, std::uint32_t of) {
            return wrong(
                file, parts.front().line,
                fmt::format("the parts of the readouts do not cover {}: no readout has its sources from {}/{} to "
                            "{}/{}, and no event would; add the "
                            "readout, or list the sources that are wanted in [data] sources",
                            raw.empty() ? "the file" : raw, reached.number, reached.of, to, of));
        };
        for (const auto& part : parts) {
            if (below(reached.number, reached.of, part.number - 1, part.of)) return gap(part.number - 1, part.of);
            if (below(reached.number, reached.of, part.number, part.of)) reached = part;
        }
        if (reached.number != reached.of) return gap(1, 1);
    }
    return {};
}

/// A source is served by one readout. Looked at are those that are named; what a file or a generator brings by itself
/// is found when the readouts run.
Result<> check_sources(const std::filesystem::path& file, const std::vector<FileSection>& sections) {
    struct Owner {
        std::string section;
        std::size_t line;
    };
    std::map<SourceId, Owner> owners;
    for (const auto& [section, station] : sections) {
        if (!station || station->kind != StationKind::readout) continue;
        const auto level2 = [](const service::SectionText& value) {  // its source is always the same
            return value.key == "source" && value.text == "level2";
        };
        if (std::ranges::any_of(section.texts, level2)) continue;
        for (const auto& value : section.texts) {
            if (value.key != "sources") continue;
            const auto source = parse_source_id(value.text);
            if (!source) continue;  // its station reports that better
            const auto [owner, fresh] = owners.try_emplace(*source, Owner{section.path, value.line});
            if (fresh) continue;
            if (owner->second.section == section.path)
                return wrong(file, value.line,
                             fmt::format("source 0x{:06x} is named twice in sources of [{}]; name it once",
                                         number(*source), section.path));
            return wrong(
                file, value.line,
                fmt::format("source 0x{:06x} of [{}] is a source of [{}] already (line {}); remove it from one "
                            "of them, a source is served by one readout",
                            number(*source), section.path, owner->second.section, owner->second.line));
        }
    }
    return {};
}

/// The stations together: can they take data?
Result<> check_whole(const Partition& p) {
    const auto need = [&](StationKind kind, std::string_view why) {
        return wrong(p.file, 0, fmt::format("there is no [{}.NAME]: {}", name(kind), why));
    };
    const auto only_one = [&](StationKind kind) -> Result<> {
        const StationEntry* first = nullptr;
        for (const auto& station : p.stations) {
            if (station.kind != kind) continue;
            if (first != nullptr)
                return wrong(p.file, station.line,
                             fmt::format("[{}] is a second {} station beside [{}] (line {}); a partition has one",
                                         station.section(), name(kind), first->section(), first->line));
            first = &station;
        }
        return {};
    };
    if (p.stations.empty()) return wrong(p.file, 0, "no station; a station is a section such as [readout.ros-1]");
    WEIR_TRY(only_one(StationKind::assign));
    WEIR_TRY(only_one(StationKind::supervise));
    if (p.count(StationKind::readout) == 0) return need(StationKind::readout, "nothing would be read out");
    if (p.count(StationKind::assign) == 0) return need(StationKind::assign, "no station would give events to builders");
    if (p.count(StationKind::build) == 0) return need(StationKind::build, "no station would build events");
    if (p.count(StationKind::supervise) == 0)
        return need(StationKind::supervise, "no station would decide which events there are");
    if (p.count(StationKind::record) == 0)
        return need(StationKind::record, p.count(StationKind::filter) > 0 ? "filters would have nowhere to send events"
                                                                          : "built events would have nowhere to go");
    return {};
}

/// Each hand-off has the files of one recorder, and no other hand-off has them.
Result<> find_recorders(Partition& p, const std::vector<FileSection>& sections) {
    std::map<std::string, const StationEntry*> taken;  // by recorder
    for (auto& station : p.stations) {
        if (station.kind != StationKind::handoff) continue;
        const auto own = std::ranges::find_if(
            sections, [&](const FileSection& section) { return section.section.path == station.section(); });
        const auto named = std::ranges::find(own->section.texts, "recorder", &service::SectionText::key);
        std::vector<std::string> recorders;
        for (const auto& other : p.stations)
            if (other.kind == StationKind::record) recorders.push_back(other.name);
        if (named == own->section.texts.end() || named->text.empty()) {
            if (recorders.size() > 1)
                return wrong(p.file, station.line,
                             fmt::format("[{}]: whose files? name one of the recorders {}, as recorder = \"{}\"",
                                         station.section(), fmt::join(recorders, ", "), recorders.front()));
            station.recorder = recorders.front();
        } else if (std::ranges::find(recorders, named->text) == recorders.end()) {
            return wrong(p.file, named->line,
                         fmt::format("recorder = \"{}\" of [{}]: there is no [record.{}]{}", named->text,
                                     station.section(), named->text, did_you_mean(named->text, recorders)));
        } else {
            station.recorder = named->text;
        }
        if (const auto [other, fresh] = taken.try_emplace(station.recorder, &station); !fresh)
            return wrong(
                p.file, station.line,
                fmt::format("[{}] hands over the files of {}, as [{}] does (line {}); name all places in "
                            "`destinations` of one of them",
                            station.section(), station.recorder, other->second->section(), other->second->line));
    }
    return {};
}

}  // namespace

bool is_station_name(std::string_view name) noexcept {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, fits);
}

std::string StationEntry::section() const { return fmt::format("{}.{}", weir::name(kind), name); }

std::size_t Partition::count(StationKind kind) const noexcept {
    return static_cast<std::size_t>(std::ranges::count(stations, kind, &StationEntry::kind));
}

const StationEntry* Partition::find(std::string_view station) const noexcept {
    const auto found = std::ranges::find(stations, station, &StationEntry::name);
    return found == stations.end() ? nullptr : &*found;
}

Result<Partition> parse_partition(std::string_view text, const std::filesystem::path& file) {
    const auto sections = WEIR_TRY(read_sections(text, file.native()));
    Partition partition;
    partition.file = file;
    for (const auto& [section, as_station] : sections) {
        if (section.path == "partition") {
            for (const auto& value : section.texts)
                if (value.key == "name") partition.name = value.text;
        } else if (section.path == "data") {
            for (const auto& value : section.texts) {
                if (value.key != "sources") continue;
                const auto source = parse_source_id(value.text);
                if (!source)
                    return wrong(
                        file, value.line,
                        fmt::format("data.sources: \"{}\" is not a source; write it as \"0x7c0000\"", value.text));
                if (std::ranges::find(partition.sources, *source) != partition.sources.end())
                    return wrong(file, value.line, fmt::format("data.sources: 0x{:x} is named twice", number(*source)));
                partition.sources.push_back(*source);
            }
        }
        if (!as_station) continue;
        const auto& station = *as_station;
        if (!is_station_name(station.name))
            return wrong(file, section.line,
                         fmt::format("[{}]: a station's name has letters, digits, - and _, 64 at most", section.path));
        if (const auto* other = partition.find(station.name))
            return wrong(file, section.line,
                         fmt::format("[{}] has the name of [{}] (line {}); names are of the whole partition",
                                     section.path, other->section(), other->line));
        if (partition.stations.size() == stations_max)
            return wrong(file, section.line, fmt::format("more than {} stations", stations_max));
        partition.stations.push_back({station.kind,
                                      station.name,
                                      wire::StationId{static_cast<std::uint16_t>(partition.stations.size() + 1)},
                                      section.line,
                                      {},
                                      {}});
    }
    WEIR_TRY(check_whole(partition));
    WEIR_TRY(find_recorders(partition, sections));
    WEIR_TRY(find_hosts(partition, sections, text));
    WEIR_TRY(check_ports(file, sections));
    WEIR_TRY(check_sources(file, sections));
    if (partition.sources.empty()) {  // else those that are wanted are listed, and checked when the readouts are known
        WEIR_TRY(check_parts(file, sections));
    }
    return partition;
}

Result<> check_peers(const Partition& partition, const std::vector<Peer>& peers) {
    std::map<SourceId, std::string> served;
    std::map<std::string, std::string> reached;
    for (const auto& peer : peers) {
        for (const auto source : peer.sources) {
            const auto [owner, fresh] = served.try_emplace(source, peer.name);
            if (!fresh)
                return wrong(partition.file, 0,
                             fmt::format("source 0x{:x} is served by {} and by {}; one readout must own it",
                                         number(source), owner->second, peer.name));
        }
        for (const auto& address : {peer.dataflow, peer.events}) {
            if (address.empty()) continue;
            const auto [owner, fresh] = reached.try_emplace(address, peer.name);
            if (!fresh && owner->second != peer.name)
                return wrong(partition.file, 0,
                             fmt::format("{} and {} are both at {}; give each a port of its own", owner->second,
                                         peer.name, address));
        }
    }
    for (const auto source : partition.sources) {
        if (!served.contains(source))
            return wrong(partition.file, 0,
                         fmt::format("source 0x{:x} of [data] sources is served by no readout", number(source)));
    }
    return {};
}

}  // namespace weir::control
