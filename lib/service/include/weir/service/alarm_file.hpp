// SPDX-License-Identifier: Apache-2.0
// Alarms on disk: an alarm stays latched over a restart of its station, and over a crash. A small text file that
// is replaced as a whole, so that it is always the old one or the new one. A running station answers a request for
// its alarms with the same text (alarm_keeper.hpp). One line an alarm, fields with a tab between them, after a line
// with the version; docs/apps/alarms.md has the fields.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/service/reports.hpp"

namespace weir::service {

/// Where the alarms of a station are: `weir.alarms`, and `weir.control`, the socket of the running station.
struct AlarmPlace {
    std::filesystem::path directory;
    std::string station = "weir";  // the recorder; so that two stations of one directory do not meet

    [[nodiscard]] std::filesystem::path file() const { return directory / (station + ".alarms"); }
    [[nodiscard]] std::filesystem::path socket() const { return directory / (station + ".control"); }
};

inline constexpr const char* hand_off_station = "weir-handoff";

[[nodiscard]] std::string to_text(const std::vector<Alarm>& alarms);
/// Errc::corrupt names the line; Errc::unsupported: another version. The text of a report is one then, in `what`.
[[nodiscard]] Result<std::vector<Alarm>> alarms_from(std::string_view text);

/// Replaces the file, durably. When that fails the old one is as it was.
[[nodiscard]] Result<> save_alarms(const AlarmPlace& place, const std::vector<Alarm>& alarms);
/// None when there is no file.
[[nodiscard]] Result<std::vector<Alarm>> load_alarms(const AlarmPlace& place);

/// A person needs a name to acknowledge, and a name is one line of at most 100 bytes.
[[nodiscard]] bool valid_person(std::string_view person) noexcept;

}  // namespace weir::service
