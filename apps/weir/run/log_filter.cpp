// SPDX-License-Identifier: Apache-2.0
#include "run/log_filter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/suggest.hpp"

namespace weir::app {
namespace {

constexpr std::size_t known_shown = 20;

}  // namespace

bool LogFilter::wants(const service::LogEntry& entry) const {
    return (stations.empty() || std::ranges::find(stations, entry.station) != stations.end()) &&
           entry.severity >= severity && (!since || entry.when >= *since) && (!until || entry.when < *until);
}

Result<> check_stations(const std::vector<std::string>& wanted, std::vector<std::string> known,
                        std::string_view where) {
    std::ranges::sort(known);
    const auto [twice, end] = std::ranges::unique(known);
    known.erase(twice, end);
    for (const auto& name : wanted) {
        if (std::ranges::binary_search(known, name)) continue;
        const auto shown = std::span(known).first(std::min(known.size(), known_shown));
        const auto more =
            known.size() > known_shown ? fmt::format(" and {} more", known.size() - known_shown) : std::string();
        return fail(Errc::refused, fmt::format("{} has no station \"{}\"{}; there are {}{}", where, name,
                                               did_you_mean(name, known), fmt::join(shown, ", "), more));
    }
    return {};
}

Result<WallTime> parse_moment(std::string_view text, WallTime now) {
    if (const auto ago = parse_duration(text)) return now - std::chrono::duration_cast<WallTime::duration>(*ago);
    // What is left out is added: the day of now, seconds, parts of them.
    constexpr std::string_view rest = ":00.000Z";
    std::string whole(text);
    if (whole.ends_with('Z')) whole.pop_back();
    if (whole.size() > 10 && whole[10] == ' ') whole[10] = 'T';
    if (!whole.contains('T') && whole.contains(':')) whole = service::log_time(now).substr(0, 11) + whole;
    if (whole.size() == 10) whole += "T00:00";
    if (whole.size() == 16) whole += rest;
    else if (whole.size() == 19) whole += rest.substr(3);
    else if (whole.size() == 23) whole += 'Z';
    if (const auto moment = service::parse_log_time(whole)) return *moment;
    return fail(Errc::usage,
                fmt::format("\"{}\" is no time; write 2026-11-27T22:30, 22:30 (UTC, today) or 10min (ago)", text));
}

}  // namespace weir::app
