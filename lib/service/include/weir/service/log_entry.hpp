// SPDX-License-Identifier: Apache-2.0
// A line of a log, taken apart, and the forms in which it leaves the program: text for people, JSON for what collects
// logs, fields for systemd's journal.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/clock.hpp"
#include "weir/base/descriptor.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/report.hpp"

namespace weir::service {

struct LogEntry {
    WallTime when{};
    std::string partition{}, station{};  // empty: not known
    RunNumber run{};                     // 0: none
    Severity severity = Severity::information;
    std::string text{};  // without what stands in the fields above
};

/// "2026-11-27T22:30:04.123Z"
[[nodiscard]] std::string log_time(WallTime when);
/// Of such a text. Nothing: it is none.
[[nodiscard]] std::optional<WallTime> parse_log_time(std::string_view text) noexcept;

/// "2026-11-27T22:30:04.123Z error rec-1: file quarantined: ...", as stations write it, or without its time. A line
/// that is none of these is text as a whole. `when`: of a line without a time.
[[nodiscard]] LogEntry parse_log_line(std::string_view line, WallTime when);

/// The line of it, "2026-11-27T22:30:04.123Z error rec-1: file quarantined: ...", also of text that was no report:
/// parse_log_line() gives the same entry.
[[nodiscard]] std::string log_line(const LogEntry& entry);

/// {"time":"...","severity":"error","partition":"testbeam","station":"rec-1","run":17,"text":"..."}, on one line. What
/// is not known is left out.
[[nodiscard]] std::string json_line(const LogEntry& entry);

/// systemd's journal on this machine, by its native protocol (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/): one
/// datagram of fields a line, so no library is needed. Any thread.
class Journal {
public:
    /// `stream`: the value of JOURNAL_STREAM. None: what is written to `fd` does not go to the journal, or nobody
    /// listens at `socket`.
    [[nodiscard]] static std::optional<Journal> behind(
        const char* stream, int fd, const std::filesystem::path& socket = "/run/systemd/journal/socket");

    /// MESSAGE, PRIORITY, PARTITION, STATION, RUN. Does not wait. False: the journal did not take it.
    [[nodiscard]] bool send(const LogEntry& entry) const noexcept;

private:
    explicit Journal(Descriptor socket) noexcept : socket_(std::move(socket)) {}
    Descriptor socket_;
};

}  // namespace weir::service
