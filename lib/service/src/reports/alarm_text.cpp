// SPDX-License-Identifier: Apache-2.0
#include "weir/service/alarm_text.hpp"

#include <algorithm>

#include "weir/service/log_entry.hpp"

namespace weir::service {
namespace {

char spoken(char c) { return c == '_' || c == '-' ? ' ' : c; }

/// `text` without `name` and the colon behind it, where it begins with them.
std::string_view without_name(std::string_view name, std::string_view text) {
    if (name.empty() || !std::ranges::equal(text.substr(0, name.size()), name, {}, spoken, spoken)) return text;
    const auto rest = text.substr(name.size());
    return rest.starts_with(": ") ? rest.substr(2) : rest.empty() ? rest : text;
}

}  // namespace

std::string_view alarm_text(std::string_view name, std::string_view text) {
    // What follows severity and station is the end of the line.
    text = text.substr(text.size() - parse_log_line(text, {}).text.size());
    constexpr std::string_view alarm = "ALARM ";
    if (text.starts_with(alarm)) {
        const auto behind = text.substr(alarm.size());
        if (const auto rest = without_name(name, behind); rest != behind) return rest;
    }
    return without_name(name, text);
}

}  // namespace weir::service
