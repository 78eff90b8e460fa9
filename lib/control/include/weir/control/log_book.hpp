// SPDX-License-Identifier: Apache-2.0
// The lines of stations and of run control, in one bounded list. Stations write their own log files, so that they never
// wait for run control and their lines outlive it; run control reads behind them.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/control/launcher.hpp"

namespace weir::control {

struct LogLine {
    std::uint64_t number = 0;  // from 1 on, without gaps
    WallTime when{};           // when run control saw it
    std::string station{};     // "run" for run control itself
    std::string text{};
};

/// Any thread.
class LogBook {
public:
    explicit LogBook(std::size_t lines_max = 10'000) : lines_max_(lines_max) {}

    void add(WallTime when, std::string_view station, std::string_view text);
    /// Lines whose number is above `after`, the oldest first; older ones may be gone.
    [[nodiscard]] std::vector<LogLine> after(std::uint64_t after, std::size_t at_most) const;
    [[nodiscard]] std::uint64_t last() const;

private:
    const std::size_t lines_max_;
    mutable std::mutex mutex_;
    std::uint64_t last_ = 0;
    std::deque<LogLine> lines_;
};

/// One thread. Reads a log file from where it ended, line by line, and keeps it bounded: beyond `size_max` it is copied
/// to NAME.1, in place of the one before, and begins anew.
class LogTail final : public LogLines {
public:
    LogTail(std::filesystem::path path, Bytes size_max);

    /// What was added since, 256 KiB at most; nothing when there is no file.
    void read(const std::function<void(std::string_view line)>& line) override;

private:
    void shorten(std::uint64_t size);

    const std::filesystem::path path_;
    const Bytes size_max_;
    std::uint64_t offset_ = 0;
    std::string rest_;  // of a line that has not ended
};

}  // namespace weir::control
