// SPDX-License-Identifier: Apache-2.0
#include "run/records/record_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <map>
#include <set>
#include <utility>

#include "cli/output.hpp"
#include "weir/service/configuration_sections.hpp"

namespace weir::app {
namespace {

json::value as_json(const std::string& text) { return json::value(json_text(text)); }

json::array as_json(const std::vector<std::string>& texts) {
    json::array array;
    for (const auto& text : texts) array.emplace_back(json_text(text));
    return array;
}

struct ToJson {
    json::value operator()(bool value) const { return value; }
    json::value operator()(std::int64_t value) const { return value; }
    json::value operator()(const std::string& value) const { return as_json(value); }
    json::value operator()(const std::vector<std::string>& value) const { return as_json(value); }
};

/// By section and key; a section itself has no key.
using Settings = std::map<std::pair<std::string, std::string>, json::value>;

struct PartitionContent {
    Settings settings;
    std::vector<std::string> sections;  // in the order of the file
};

Result<PartitionContent> content_of(const catalogue::RunRecord& record) {
    PartitionContent content;
    auto sections = WEIR_TRY(service::list_sections(record.text, record.file));
    for (auto& section : sections) {
        content.settings[{section.path, ""}] = true;
        content.sections.push_back(std::move(section.path));
    }
    auto values = WEIR_TRY(service::list_values(record.text, record.file));
    for (auto& value : values)
        content.settings[{std::move(value.section), std::move(value.key)}] = std::visit(ToJson{}, value.value);
    return content;
}

/// The number of a station is its place in the file.
bool other_order(const PartitionContent& first, const PartitionContent& second) {
    const auto common = [](const std::vector<std::string>& sections, const std::vector<std::string>& others) {
        std::vector<std::string> both;
        for (const auto& section : sections) {
            if (section.contains('.') && std::ranges::find(others, section) != others.end()) both.push_back(section);
        }
        return both;
    };
    return common(first.sections, second.sections) != common(second.sections, first.sections);
}

json::value events_of(const catalogue::RunRecord& record) {
    return record.events ? json::value(*record.events) : json::value();
}

json::value duration_of(const catalogue::RunRecord& record) {
    return record.duration.empty() ? json::value() : as_json(record.duration);
}

json::value masked_of(const catalogue::RunRecord& record) {
    auto masked = record.masked_from_begin();
    std::ranges::sort(masked);
    return as_json(masked);
}

}  // namespace

std::string RecordDifference::name() const {
    if (section.empty()) return what;
    return what.empty() ? fmt::format("[{}]", section) : fmt::format("[{}] {}", section, what);
}

Result<std::vector<RecordDifference>> differences_of(const catalogue::RunRecord& first,
                                                     const catalogue::RunRecord& second) {
    std::vector<RecordDifference> all;
    const auto compare = [&](const char* what, json::value a, json::value b) {
        if (a != b) all.push_back({"", what, std::move(a), std::move(b)});
    };
    compare("weir", as_json(first.weir), as_json(second.weir));
    compare("source files", as_json(first.sources), as_json(second.sources));
    compare("events", events_of(first), events_of(second));
    compare("duration", duration_of(first), duration_of(second));
    compare("masked from the begin", masked_of(first), masked_of(second));
    const auto a = WEIR_TRY(content_of(first));
    const auto b = WEIR_TRY(content_of(second));
    if (other_order(a, b)) compare("order of the stations", as_json(a.sections), as_json(b.sections));
    auto names = a.settings;
    names.insert(b.settings.begin(), b.settings.end());
    const auto value_in = [](const Settings& settings, const Settings::key_type& name) {
        const auto found = settings.find(name);
        return found == settings.end() ? json::value() : found->second;
    };
    for (const auto& [name, value] : names) {
        const auto of_first = value_in(a.settings, name), of_second = value_in(b.settings, name);
        if (of_first != of_second) all.push_back({name.first, name.second, of_first, of_second});
    }
    return all;
}

}  // namespace weir::app
