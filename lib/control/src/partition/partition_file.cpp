// SPDX-License-Identifier: Apache-2.0
#include "partition/partition_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/suggest.hpp"

namespace weir::control {
namespace {

std::vector<std::string> known_sections() {
    auto words = shared_sections();
    for (const auto kind : station_kinds) words.emplace_back(name(kind));
    return words;
}

}  // namespace

const std::vector<std::string>& shared_sections() {
    static const std::vector<std::string> words{"partition", "data",   "network", "security",
                                                "hosts",     "engine", "run",     "notify"};
    return words;
}

Result<std::vector<FileSection>> read_sections(std::string_view text, std::string_view file_name) {
    auto listed = WEIR_TRY(service::list_sections(text, file_name));
    std::vector<FileSection> sections;
    for (auto& section : listed) {
        const auto dot = section.path.find('.');
        const auto head = section.path.substr(0, dot);
        const auto rest = dot == section.path.npos ? std::string{} : section.path.substr(dot + 1);
        const auto kind = parse_station_kind(head);
        const auto wrong = [&](std::string_view what) {
            return fail(Errc::usage, fmt::format("{}:{}: {}", file_name, section.line, what));
        };
        if (!kind && std::ranges::find(shared_sections(), head) == shared_sections().end())
            return wrong(fmt::format("unknown section [{}]{}", section.path, did_you_mean(head, known_sections())));
        if (kind && rest.empty())
            return wrong(fmt::format("[{0}] has no name; a station's section is [{0}.NAME]", head));
        std::optional<FileSection::Station> station;
        if (kind && rest.find('.') == rest.npos) station = FileSection::Station{*kind, rest};
        sections.push_back({std::move(section), std::move(station)});
    }
    return sections;
}

}  // namespace weir::control
