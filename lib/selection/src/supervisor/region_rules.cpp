// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/region_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "source_list.hpp"
#include "weir/plugin/library.hpp"
#include "weir/plugin/thrown_by.hpp"
#include "weir/selection/regions.hpp"

namespace weir::selection {
namespace {

struct Row {
    std::optional<std::uint32_t> trigger_type{};
    std::optional<std::pair<std::uint32_t, std::uint32_t>> bit{};  // word and bit in it
    std::vector<SourceId> sources{};

    [[nodiscard]] bool holds(const wire::EventTicket& event) const noexcept {
        if (trigger_type) return event.trigger_type == *trigger_type;
        if (bit)
            return bit->first < event.level1_words.size() && (event.level1_words[bit->first] >> bit->second & 1) != 0;
        return true;
    }
};

std::string_view trimmed(std::string_view text) noexcept {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

Result<Row> parse_row(std::string_view text) {
    const auto no_row = [text] {
        return fail(
            Errc::usage,
            fmt::format("\"{}\" is no row of regions: write \"type:0x81 = 0x420000+0x420001\", \"word:0:5 = ...\" "
                        "(bit 5 of word 0) or \"all = ...\"",
                        text));
    };
    const auto equals = text.find('=');
    if (equals == text.npos) return no_row();
    auto condition = trimmed(text.substr(0, equals));
    Row row;
    const auto sources = parse_source_list(trimmed(text.substr(equals + 1)));
    if (!sources) return no_row();
    row.sources = *sources;
    if (condition == "all") return row;
    if (condition.starts_with("type:")) {
        row.trigger_type = parse_number(condition.substr(5));
        if (row.trigger_type) return row;
    } else if (condition.starts_with("word:")) {
        condition.remove_prefix(5);
        const auto colon = condition.find(':');
        const auto word = parse_number(condition.substr(0, colon));
        const auto bit = colon == condition.npos ? std::nullopt : parse_number(condition.substr(colon + 1));
        if (word && bit && *word < wire::trigger_words_max && *bit < 32) {
            row.bit = {*word, *bit};
            return row;
        }
    }
    return no_row();
}

Result<> call(RegionsFunction* function, const Level1Trigger& trigger, std::vector<SourceId>& sources) {
    if (const auto thrown = plugin::thrown_by([&] { function(trigger, sources); })) return fail(Errc::refused, *thrown);
    std::ranges::sort(sources);
    const auto same = std::ranges::unique(sources);
    sources.erase(same.begin(), same.end());
    if (sources.size() > wire::regions_max)
        return fail(Errc::limit, fmt::format("it named {} sources; {} are allowed", sources.size(), wire::regions_max));
    return {};
}

}  // namespace

Result<RegionRule> load_region_rule(const std::filesystem::path& path) {
    constexpr plugin::LibraryKind kind{.name = "regions", .symbol = "weir_regions", .macro = "WEIR_REGIONS"};
    const auto* face = static_cast<const RegionsFace*>(WEIR_TRY(plugin::load_library(path, kind)));
    const RegionsFace ours{};
    if (face->version != ours.version || face->trigger_size != ours.trigger_size || face->regions == nullptr)
        return plugin::built_against_another_weir(path, kind);
    return [function = face->regions](const wire::EventTicket& event, std::vector<SourceId>& sources) {
        return call(function,
                    {.level1_id = event.level1_id,
                     .trigger_type = event.trigger_type,
                     .bunch_crossing_id = event.bunch_crossing_id,
                     .level1_words = event.level1_words},
                    sources);
    };
}

Result<RegionRule> make_region_table(const std::vector<std::string>& rows) {
    std::vector<Row> table;
    std::size_t all = 0;
    for (const auto& text : rows) {
        table.push_back(WEIR_TRY(parse_row(text)));
        all += table.back().sources.size();
    }
    if (all > wire::regions_max)
        return fail(Errc::usage,
                    fmt::format("the table of regions names {} sources; {} are allowed", all, wire::regions_max));
    return [table = std::move(table)](const wire::EventTicket& event, std::vector<SourceId>& sources) -> Result<> {
        for (const auto& row : table) {
            if (!row.holds(event)) continue;
            for (const auto source : row.sources)
                if (std::ranges::find(sources, source) == sources.end()) sources.push_back(source);
        }
        return {};
    };
}

}  // namespace weir::selection
