// SPDX-License-Identifier: Apache-2.0
// Run control in the foreground of a terminal.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/process/signals.hpp"
#include "cli/progress.hpp"
#include "run/session/run_options.hpp"
#include "weir/control/run_control.hpp"

namespace weir::app {

/// Drives the partition until it is down. The thread that launches stations is this one: they end with it.
class Foreground {
public:
    Foreground(const RunOptions& options, control::RunControl& control, ProgressLine& line,
               const std::function<std::optional<std::string>()>& superseded)
        : options_(options), control_(control), line_(line), superseded_(superseded) {}

    /// A second signal waits for nothing any more. Errc::refused: another run control has the machines; nothing of
    /// the run that goes on is this one's any more.
    [[nodiscard]] Result<> drive(Signals& signals);

private:
    void next(const control::PartitionGlance& now);
    void show();

    const RunOptions& options_;
    control::RunControl& control_;
    ProgressLine& line_;
    const std::function<std::optional<std::string>()> superseded_;
    control::PartitionView before_, last_;
    bool interrupted_ = false;
};

}  // namespace weir::app
