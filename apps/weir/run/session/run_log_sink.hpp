// SPDX-License-Identifier: Apache-2.0
// Where run control's own reports go.
#pragma once

#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include "cli/progress.hpp"
#include "weir/base/clock.hpp"
#include "weir/control/log_book.hpp"
#include "weir/service/reports.hpp"

namespace weir::app {

/// The log that GET /log answers with, a file, and what matters to stderr. For several threads.
class RunLogSink final : public service::ReportSink {
public:
    /// `terminal`: false: stderr has the lines of the book already, in another form.
    RunLogSink(control::LogBook& book, const std::filesystem::path& file, ProgressLine& line, const Clock& clock,
               bool terminal);

    void show(const service::SubmittedReport& report) override;
    /// It stands on the terminal already.
    [[nodiscard]] bool shown(const std::string& what) const;

private:
    mutable std::mutex mutex_;
    std::set<std::string> shown_;
    control::LogBook& book_;
    std::ofstream file_;
    ProgressLine& line_;
    const Clock& clock_;
    const bool terminal_;
};

}  // namespace weir::app
