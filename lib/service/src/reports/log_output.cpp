// SPDX-License-Identifier: Apache-2.0
#include "weir/service/log_output.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

namespace weir::service {
namespace {

constexpr std::size_t line_size_max = 4000;  // below PIPE_BUF: a pipe that is writable takes it whole (pipe(7))

/// Whether stderr takes a line at once. Who reads the log may be slow, stopped or gone, and must not hold up who writes
/// it.
bool writable() noexcept {
    pollfd one{STDERR_FILENO, POLLOUT, 0};
    return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLOUT | POLLERR | POLLHUP)) != 0;
}

/// No longer than a line: the text is cut for it.
std::string bounded_json(LogEntry entry) {
    auto line = json_line(entry);
    while (line.size() > line_size_max && !entry.text.empty()) {
        entry.text.resize(entry.text.size() - std::min(entry.text.size(), line.size() - line_size_max));
        line = json_line(entry);
    }
    return line;
}

}  // namespace

struct LogOutput::State {
    LogFormat format;
    std::string partition;
    std::optional<Journal> journal;
    std::mutex mutex;
    RunNumber run{};
    std::uint64_t missing = 0;
    // Our own, not spdlog's registry: two of them in one program do not meet.
    spdlog::logger logger{"weir", std::make_shared<spdlog::sinks::stderr_sink_mt>()};

    void write(std::string_view line) { logger.log(spdlog::level::info, spdlog::string_view_t(line)); }
};

LogOutput::LogOutput(const LogOptions& options) : state_(std::make_unique<State>()) {
    state_->format = options.format;
    state_->partition = options.partition;
    if (options.format == LogFormat::text)
        state_->journal = Journal::behind(options.journal_stream, STDERR_FILENO, options.journal);
    state_->logger.set_pattern("%v");
}

LogOutput::~LogOutput() = default;

bool LogOutput::structured() const noexcept { return state_->format == LogFormat::json || state_->journal; }

void LogOutput::set_run(RunNumber run) {
    const std::lock_guard lock(state_->mutex);
    state_->run = run;
}

void LogOutput::write(LogEntry entry) {
    const std::lock_guard lock(state_->mutex);
    auto& missing = state_->missing;
    if (!state_->journal && !writable()) {
        ++missing;
        return;
    }
    entry.partition = state_->partition;
    if (number(entry.run) == 0) entry.run = state_->run;
    if (entry.text.size() > line_size_max) entry.text.resize(line_size_max);
    const auto before = missing;
    const auto note = before > 0 ? fmt::format(" [{} lines before this could not be written]", before) : std::string();
    if (state_->journal) {
        entry.text += note;
        missing = state_->journal->send(entry) ? 0 : before + 1;
        return;
    }
    missing = 0;
    if (state_->format == LogFormat::json) {
        entry.text.resize(std::min(entry.text.size(), line_size_max - 200));
        entry.text += note;
        return state_->write(bounded_json(std::move(entry)));
    }
    auto line = fmt::format("{} {} {}: {}", log_time(entry.when), name(entry.severity), entry.station, entry.text);
    if (line.size() > line_size_max) line.resize(line_size_max);
    state_->write(line + note);
}

}  // namespace weir::service
