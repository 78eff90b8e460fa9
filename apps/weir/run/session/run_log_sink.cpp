// SPDX-License-Identifier: Apache-2.0
#include "run/session/run_log_sink.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

#include "cli/command_line.hpp"
#include "run/session/run_options.hpp"

namespace weir::app {
namespace {

constexpr std::size_t shown_max = 10'000;

/// As in the logs of the stations.
std::string time_of_log_line(WallTime when) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(when);
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(when - seconds).count();
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                       milliseconds);
}

/// Without "error run: ": who reads the terminal sees that it is run control.
std::string text_on_terminal(const service::SubmittedReport& report, const std::string& text) {
    const auto begin = fmt::format("{} {}: ", name(report.severity), report.who);
    return text.starts_with(begin) ? text.substr(begin.size()) : text;
}

}  // namespace

RunLogSink::RunLogSink(control::LogBook& book, const std::filesystem::path& file, ProgressLine& line,
                       const Clock& clock)
    : book_(book), file_(file, std::ios::app), line_(line), clock_(clock) {}

void RunLogSink::show(const service::SubmittedReport& report) {
    const auto text = one_line(report);
    const std::scoped_lock lock(mutex_);
    book_.add(clock_.wall(), "run", text);
    file_ << time_of_log_line(report.when) << ' ' << text << '\n' << std::flush;
    line_.print_above([&] { complain(weir_run, text_on_terminal(report, text)); });
    if (shown_.size() < shown_max) shown_.insert(report.what);
}

bool RunLogSink::shown(const std::string& what) const {
    const std::scoped_lock lock(mutex_);
    return shown_.contains(what);
}

}  // namespace weir::app
