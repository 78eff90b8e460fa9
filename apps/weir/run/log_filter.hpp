// SPDX-License-Identifier: Apache-2.0
// Which lines of a log somebody wants to see.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/service/log_entry.hpp"

namespace weir::app {

struct LogFilter {
    std::vector<std::string> stations{};        // empty: all
    Severity severity = Severity::information;  // and worse
    std::optional<WallTime> since{}, until{};   // the latter not included

    [[nodiscard]] bool wants(const service::LogEntry& entry) const;
};

/// Each station that is `wanted` is one of `known`. Errc::refused: one is not, with the name that may be meant and
/// those that there are; `where` is "the log" or a directory.
[[nodiscard]] Result<> check_stations(const std::vector<std::string>& wanted, std::vector<std::string> known,
                                      std::string_view where);

/// "2026-11-27T22:30:04Z", "2026-11-27 22:30", "22:30" of this day, all in UTC as logs are; "10min": so long before
/// `now`. Errc::usage: it is none of these.
[[nodiscard]] Result<WallTime> parse_moment(std::string_view text, WallTime now);

}  // namespace weir::app
