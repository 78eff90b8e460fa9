// SPDX-License-Identifier: Apache-2.0
#include "run/log_filter.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::app {

bool LogFilter::wants(const service::LogEntry& entry) const {
    return (stations.empty() || std::ranges::find(stations, entry.station) != stations.end()) &&
           entry.severity >= severity && (!since || entry.when >= *since) && (!until || entry.when < *until);
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
