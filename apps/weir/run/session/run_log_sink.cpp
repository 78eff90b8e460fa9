// SPDX-License-Identifier: Apache-2.0
#include "run/session/run_log_sink.hpp"

#include <fmt/format.h>

#include "cli/command_line.hpp"
#include "run/session/run_options.hpp"
#include "weir/service/log_entry.hpp"

namespace weir::app {
namespace {

constexpr std::size_t shown_max = 10'000;

/// Without "error run: ": who reads the terminal sees that it is run control.
std::string text_on_terminal(const service::SubmittedReport& report, const std::string& text) {
    const auto begin = fmt::format("{} {}: ", name(report.severity), report.who);
    return text.starts_with(begin) ? text.substr(begin.size()) : text;
}

}  // namespace

RunLogSink::RunLogSink(control::LogBook& book, const std::filesystem::path& file, ProgressLine& line,
                       const Clock& clock, bool terminal)
    : book_(book), file_(file, std::ios::app), line_(line), clock_(clock), terminal_(terminal) {}

void RunLogSink::show(const service::SubmittedReport& report) {
    const auto text = one_line(report);
    const std::scoped_lock lock(mutex_);
    book_.add(clock_.wall(), "run", text);
    file_ << service::log_time(report.when) << ' ' << text << '\n' << std::flush;
    if (terminal_) line_.print_above([&] { complain(weir_run, text_on_terminal(report, text)); });
    if (shown_.size() < shown_max) shown_.insert(report.what);
}

bool RunLogSink::shown(const std::string& what) const {
    const std::scoped_lock lock(mutex_);
    return shown_.contains(what);
}

}  // namespace weir::app
