// SPDX-License-Identifier: Apache-2.0
// A report of a part of the program to its operator: what happened, where, why, what to do. There is one type of report
// and one way for it. A part is given a Reporter, and neither prints nor logs; a program decides what stands behind the
// Reporter: service::Reports in a station (limited in rate, logged, counted, alarms latched), a line on the terminal in
// a command, a vector in a test.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/base/result.hpp"

namespace weir {

enum class Severity : std::uint8_t { information, warning, error, fatal };
[[nodiscard]] std::string_view name(Severity severity) noexcept;
[[nodiscard]] std::optional<Severity> parse_severity(std::string_view text) noexcept;

struct Report {
    Severity severity = Severity::information;
    std::string what{};                 // "file quarantined"
    std::string where{};                // file, peer, stream
    std::string why{};                  // "sync failed: Input/output error"
    std::string advice{};               // what to do
    std::vector<std::string> causes{};  // the nearest first
    std::string key{};                  // of the rate limit; empty: `what` is
    std::string alarm{};                // not empty: it stays under this name until an operator acknowledges it
};

/// A failure as a report: the error's message becomes `why`.
[[nodiscard]] Report report_of(Severity severity, std::string what, const Error& error);

/// An alarm with nothing but its name and its cause: an error, "ALARM name: why".
[[nodiscard]] Report alarm_of(std::string alarm, std::string why);

/// "file quarantined: /data/1/x: sync failed: ...; <advice>", without severity and causes. One line, see on_one_line().
[[nodiscard]] std::string text_of(const Report& report);

/// Text that may hold anything, fit for one line of a log or an error message: control characters are written as \n,
/// \t, \x1b, so that a name from outside can neither begin a line of its own nor colour the terminal. Cut at `size_max`
/// bytes, which "..." then shows.
[[nodiscard]] std::string on_one_line(std::string_view text, std::size_t size_max = 1000);

/// Where a part sends its reports. What stands behind it is called by the thread that reports, by several at once;
/// it must not wait, and not report in turn. Copies report to the same place. An empty one discards its reports.
class Reporter {
public:
    Reporter() = default;
    template <std::invocable<Report> To>
        requires(!std::derived_from<std::remove_cvref_t<To>, Reporter>)
    Reporter(To to) : to_(std::move(to)) {}

    void operator()(Report report) const {
        if (to_) to_(std::move(report));
    }
    void information(std::string what) const { (*this)({.severity = Severity::information, .what = std::move(what)}); }
    void warning(std::string what) const { (*this)({.severity = Severity::warning, .what = std::move(what)}); }
    void error(std::string what) const { (*this)({.severity = Severity::error, .what = std::move(what)}); }
    void alarm(std::string name, std::string why) const { (*this)(alarm_of(std::move(name), std::move(why))); }

private:
    std::function<void(Report)> to_;
};

}  // namespace weir
