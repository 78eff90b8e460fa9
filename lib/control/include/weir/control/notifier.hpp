// SPDX-License-Identifier: Apache-2.0
// A notifier sends people what happens in a partition: one JSON document is given to a command, or posted to a web
// service, when a run begins or ends, and when an alarm is raised. docs/notifications.md
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/service/web_client.hpp"

namespace weir::control {

enum class NotifyEvent : std::uint8_t {
    start,         // a run runs
    stop,          // a run has ended
    bad_run,       // a run has ended with problems: for a notifier that asks for both this comes in place of `stop`
    alarm,         // an alarm was latched
    acknowledged,  // by a person; or by run control, of its own alarms that have no cause any more
    test,          // by weir run notify
};
inline constexpr std::size_t notify_events = 6;
[[nodiscard]] std::string_view name(NotifyEvent event) noexcept;
/// Not `test`, which nobody asks for in a file.
[[nodiscard]] std::optional<NotifyEvent> parse_notify_event(std::string_view text) noexcept;

/// Either a command or a web address.
struct NotifierOptions {
    std::string name{};  // "chat"
    std::vector<NotifyEvent> on{NotifyEvent::start, NotifyEvent::stop, NotifyEvent::bad_run, NotifyEvent::alarm};
    Severity severity = Severity::warning;  // alarms below it are left out
    std::vector<std::string> command{};     // its words, as they are: no shell reads them
    std::optional<service::WebAddress> url{};
    std::vector<service::HttpHeader> headers{};
    std::filesystem::path authorities{};           // PEM file; empty: those of this machine
    std::chrono::milliseconds time_limit{10'000};  // of one try
    std::uint32_t per_minute = 10;                 // messages of each event; more are summed up
    std::uint32_t tries = 3;                       // of one message
    std::chrono::milliseconds retry_after{2'000};  // doubles with each try
};

inline constexpr std::size_t notifiers_max = 16;  // of a partition: each has a thread

/// One try of a test message, which is waited for: what came of it, "answered with status 200". Error: io, limit, as
/// one line.
[[nodiscard]] Result<std::string> send_test(const NotifierOptions& options, const std::string& partition,
                                            const Clock& clock);

}  // namespace weir::control
