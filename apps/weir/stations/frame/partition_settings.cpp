// SPDX-License-Identifier: Apache-2.0
#include "stations/frame/partition_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "stations/frame/setting_checks.hpp"
#include "weir/base/source_id.hpp"
#include "weir/service/configuration_sections.hpp"

namespace weir::app {
namespace {

std::optional<transport::Network> to_network(const std::string& text) {
    const auto parsed = transport::Network::parse(text);
    return parsed ? std::optional(*parsed) : std::nullopt;
}

constexpr const char* without_certificates =
    "is reached by other machines, and without certificates any of them can read and forge events; give [security], or "
    "[network] plain = true on a network that you trust";

}  // namespace

std::optional<Level1Offset> parse_level1_offset(std::string_view text) noexcept {
    const auto colon = text.rfind(':');
    if (colon == text.npos) return std::nullopt;
    const auto source = parse_source_id(text.substr(0, colon));
    auto digits = text.substr(colon + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::int32_t offset = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), offset);
    if (!source || digits.empty() || ec != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return Level1Offset{*source, offset};
}

std::optional<SourceId> parse_source_id(std::string_view text) noexcept { return weir::parse_source_id(text); }

std::optional<messaging::LinkKind> parse_link(std::string_view text) noexcept {
    if (text == "udp") return messaging::LinkKind::udp;
    if (text == "tcp") return messaging::LinkKind::tcp;
    return std::nullopt;
}

void PartitionSettings::declare(service::Settings& settings) {
    settings.add("partition", "name", name, "of the partition, in logs and in what run control reports");
    settings.add("partition", "key", key, "the same in all its stations; messages of other partitions are discarded");
    settings.add("partition", "directory", directory,
                 "where stations keep files when there is no --dir; empty: where they are started");
    settings.add("partition", "contact", contact,
                 "whom to call when something is wrong, as \"DAQ on call, 16-4711\"; the page of weir run shows it");
    settings.add("partition", "deadline", deadline, "of a transition, when run control names none")
        .at_least(std::chrono::milliseconds{1});
    settings
        .add("partition", "stop_deadline", stop_deadline,
             "of a stop, when run control names none; what is in hand then is rejected as unfinished")
        .at_least(std::chrono::milliseconds{1});
    settings.add("data", "format", data.format, "of the events").one_of({"event-5.0", "event-3.0"});
    settings.add("data", "first_level1_id", data.first_level1_id,
                 "level-1 id of the first event of a run; counts up, and wraps at 32 bits");
    settings
        .add("data", "level1_offset", data.level1_offset,
             "SOURCE:N of sources with a level-1 id that is higher than the event's by N, for example \"0xa80010:1\"")
        .each(check_offset);
    settings
        .add("data", "level1_exempt", data.level1_exempt, "sources that carry no level-1 id, for example \"0x7c0000\"")
        .each(check_source);
    settings.add("data", "sources", data.sources, "ROBs that every event must have; empty: whatever the readouts serve")
        .each(check_source);
    settings
        .add("network", "link", network.link, "how stations are linked; a station may set another for its own links")
        .one_of({"udp", "tcp"});
    settings.add("network", "datagram_max", network.datagram_max, "largest datagram, with our header")
        .at_least(Bytes{512})
        .at_most(Bytes{65'507});
    settings.add("network", "receive_buffer", network.receive_buffer, "of the kernel for each socket; it may give less")
        .at_least(Bytes{4096});
    settings
        .add("network", "data", network.data,
             "10.77.0.0/16: stations listen for others at their machine's address in it; empty: all are on one machine")
        .each(check_network);
    settings
        .add("network", "control", network.control,
             "10.77.0.0/16: the same of control ports, for agents and run control on several machines")
        .each(check_network);
    settings.add("network", "plain", network.plain,
                 "true: data on other machines' networks without [security]; who reaches them reads and forges events");
    settings.add("security", "tls_certificate", security.tls_certificate,
                 "PEM file; control ports, and TCP connections between stations, use TLS and want a certificate of "
                 "tls_ca");
    settings.add("security", "tls_key", security.tls_key, "PEM file: the key of tls_certificate");
    settings.add("security", "tls_ca", security.tls_ca,
                 "PEM file: the authority that signs the certificates of operators and readers");
    settings.add("security", "own_authority", security.own_authority,
                 "instead of the three files: weir run makes an authority of the partition at its first start, in its "
                 "directory");
    settings.add("security", "join", security.join,
                 "address and port where other machines join the partition with a token, as 0.0.0.0:9401; empty: none; "
                 "needs own_authority");
    settings.add("security", "operators", security.operators,
                 "names of certificates that may command; beside those with the organizational unit weir-operator");
    settings.add("security", "readers", security.readers,
                 "names of certificates that may ask; beside those with the organizational unit weir-reader");
    settings.ignore_section("run");
    settings.ignore_section("hosts.*");
    settings.ignore_section("engine.*");
    settings.ignore_section("notify.*");
    for (const auto kind : station_kinds) settings.ignore_section(fmt::format("{}.*", weir::name(kind)));
}

Result<> PartitionSettings::check() const {
    auto all = sources();
    std::ranges::sort(all);
    if (const auto twice = std::ranges::adjacent_find(all); twice != all.end())
        return fail(Errc::usage, fmt::format("sources in [data]: 0x{:x} stands there twice", number(*twice)));
    const auto& files = security;
    const auto given = !files.tls_certificate.empty() + !files.tls_key.empty() + !files.tls_ca.empty();
    if (given != 0 && files.own_authority)
        return fail(
            Errc::usage,
            "own_authority in [security] makes tls_certificate, tls_key and tls_ca itself; leave them out, or it");
    if (given != 0 && given != 3)
        return fail(Errc::usage, "[security] needs tls_certificate, tls_key and tls_ca together, or none of them");
    if (given == 0 && !files.own_authority && !(files.operators.empty() && files.readers.empty()))
        return fail(
            Errc::usage,
            "operators and readers in [security] are known by their certificates; give tls_certificate, tls_key "
            "and tls_ca too, or own_authority = true");
    if (!files.join.empty() && !files.own_authority)
        return fail(Errc::usage,
                    "join in [security] needs own_authority = true: who joins gets a certificate of that authority");
    const auto between = data_network();
    if (between && !between->loopback() && given == 0 && !files.own_authority && !network.plain)
        return fail(Errc::usage, fmt::format("data in [network]: {} {}", network.data, without_certificates));
    return {};
}

void PartitionSettings::use_own_authority(const std::filesystem::path& partition_file) {
    if (!security.own_authority || !security.tls_certificate.empty()) return;
    const auto files = own_files(partition_file.parent_path());
    security.tls_certificate = files.certificate.native();
    security.tls_key = files.key.native();
    security.tls_ca = files.authority.native();
}

transport::TlsFiles PartitionSettings::data_tls() const {
    if (security.tls_certificate.empty()) return {};
    return {security.tls_certificate, security.tls_key, security.tls_ca, service::unit_of(service::Role::station)};
}

std::optional<transport::Network> PartitionSettings::data_network() const { return to_network(network.data); }
std::optional<transport::Network> PartitionSettings::control_network() const { return to_network(network.control); }

Result<> PartitionSettings::check_reach(const transport::HostPort& listen) const {
    if (network.plain || security.own_authority || !security.tls_certificate.empty()) return {};
    const auto addresses = WEIR_TRY(transport::resolve(listen, true));
    if (std::ranges::all_of(addresses, &transport::Address::loopback)) return {};
    return fail(Errc::usage, fmt::format("{} {}", transport::to_string(listen), without_certificates));
}

std::optional<service::ControlAccess> PartitionSettings::access(const std::filesystem::path& partition_file) const {
    if (security.own_authority && security.tls_certificate.empty())
        return service::ControlAccess{own_files(partition_file.parent_path()), security.operators, security.readers};
    if (security.tls_certificate.empty()) return std::nullopt;
    return service::ControlAccess{
        {security.tls_certificate, security.tls_key, security.tls_ca}, security.operators, security.readers};
}

Result<PartitionSettings> read_shared_settings(std::string_view text, std::string_view file_name) {
    PartitionSettings settings;
    service::Settings table;
    settings.declare(table);
    WEIR_TRY(table.read_text(text, file_name));
    WEIR_TRY(settings.check());
    return settings;
}

std::filesystem::path authority_folder(const std::filesystem::path& directory) { return directory / "authority"; }

transport::TlsFiles own_files(const std::filesystem::path& directory) {
    const auto folder = authority_folder(directory);
    return {folder / "partition.crt", folder / "partition.key", folder / "ca.crt"};
}

event::Format PartitionSettings::format() const {
    return event::parse_format(data.format).value_or(event::Format::event_5_0);
}

event::RodRules PartitionSettings::rules() const {
    event::RodRules rules;
    for (const auto& text : data.level1_offset) {
        if (const auto offset = parse_level1_offset(text)) rules.sources[offset->source].level1_offset = offset->offset;
    }
    for (const auto& text : data.level1_exempt) {
        if (const auto source = parse_source_id(text)) rules.sources[*source].exempt = true;
    }
    return rules;
}

std::vector<SourceId> PartitionSettings::sources() const {
    std::vector<SourceId> all;
    for (const auto& text : data.sources) {
        if (const auto source = parse_source_id(text)) all.push_back(*source);
    }
    return all;
}

messaging::LinkKind PartitionSettings::link() const {
    return parse_link(network.link).value_or(messaging::LinkKind::udp);
}

Result<std::vector<ListedStation>> list_stations(std::string_view text, std::string_view file_name) {
    const auto sections = WEIR_TRY(service::list_sections(text, file_name));
    std::vector<ListedStation> stations;
    for (const auto& section : sections) {
        const auto dot = section.path.find('.');
        const auto kind = parse_station_kind(section.path.substr(0, dot));
        if (!kind || (dot != section.path.npos && section.path.find('.', dot + 1) != section.path.npos)) continue;
        const auto wrong = [&](std::string_view what) {
            return fail(Errc::usage, fmt::format("{}:{}: {}", file_name, section.line, what));
        };
        if (dot == section.path.npos) {
            if (!section.has_values) continue;  // only the way to its sections
            return wrong(fmt::format("[{0}] has no name; a station's section is [{0}.NAME]", section.path));
        }
        const auto station_name = section.path.substr(dot + 1);
        const auto same = std::ranges::find(stations, station_name, &ListedStation::name);
        if (same != stations.end())
            return wrong(
                fmt::format("a second station \"{}\"; the first is in line {}, and names are unique in a partition",
                            station_name, same->line));
        const auto id = static_cast<std::uint16_t>(stations.size() + 1);
        stations.push_back({*kind, station_name, wire::StationId{id}, section.line});
    }
    return stations;
}

}  // namespace weir::app
