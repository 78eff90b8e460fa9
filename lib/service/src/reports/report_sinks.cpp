// SPDX-License-Identifier: Apache-2.0
#include "weir/service/report_sinks.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <unistd.h>

#include <array>
#include <mutex>
#include <utility>

namespace weir::service {
namespace {

spdlog::level::level_enum level_of(Severity severity) {
    switch (severity) {
        case Severity::information: return spdlog::level::info;
        case Severity::warning: return spdlog::level::warn;
        case Severity::error: return spdlog::level::err;
        case Severity::fatal: return spdlog::level::critical;
    }
    return spdlog::level::err;
}

constexpr std::size_t line_size_max = 4000;  // below PIPE_BUF: a pipe that is writable takes it whole (pipe(7))

/// Whether stderr takes a line at once. Who reads the log may be slow, stopped or gone, and must not hold up who writes
/// it.
bool writable() noexcept {
    pollfd one{STDERR_FILENO, POLLOUT, 0};
    return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLOUT | POLLERR | POLLHUP)) != 0;
}

class LogSink final : public ReportSink {
public:
    LogSink() : logger_("weir", std::make_shared<spdlog::sinks::stderr_sink_mt>()) { logger_.set_pattern("%v"); }

    void show(const SubmittedReport& report) override {
        const std::lock_guard lock(mutex_);
        if (!writable()) {
            ++missing_;
            return;
        }
        const auto seconds = std::chrono::floor<std::chrono::seconds>(report.when);
        const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(report.when - seconds).count();
        auto line =
            fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z {}", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                        milliseconds, one_line(report));
        if (line.size() > line_size_max) line.resize(line_size_max);
        if (missing_ > 0)
            line += fmt::format(" [{} lines before this could not be written]", std::exchange(missing_, 0));
        logger_.log(level_of(report.severity), spdlog::string_view_t(line));
    }

private:
    std::mutex mutex_;
    std::uint64_t missing_ = 0;
    spdlog::logger logger_;  // our own, not spdlog's registry: two Reports in one program do not meet
};

class CounterSink final : public ReportSink {
public:
    explicit CounterSink(Metrics& metrics) {
        for (const auto severity : {Severity::information, Severity::warning, Severity::error, Severity::fatal}) {
            for (const bool shown : {false, true}) {
                counters_.at(slot(severity, shown)) =
                    &metrics.counter("weir_reports_total", "Error reports, shown or held back by the rate limit",
                                     {{"severity", std::string(name(severity))}, {"shown", shown ? "yes" : "no"}});
            }
        }
    }

    void show(const SubmittedReport& report) override {
        if (!report.late)
            counters_.at(slot(report.severity, true))->add();  // a late one was counted when it was held back
    }
    void hold_back(const SubmittedReport& report) override { counters_.at(slot(report.severity, false))->add(); }

private:
    static std::size_t slot(Severity severity, bool shown) {
        return 2 * static_cast<std::size_t>(severity) + (shown ? 1 : 0);
    }
    std::array<Counter*, 8> counters_{};
};

}  // namespace

std::unique_ptr<ReportSink> log_sink() { return std::make_unique<LogSink>(); }
std::unique_ptr<ReportSink> counter_sink(Metrics& metrics) { return std::make_unique<CounterSink>(metrics); }

}  // namespace weir::service
