// SPDX-License-Identifier: Apache-2.0
// The lines of all stations and of run control on stderr as JSON, or in the journal: where somebody else collects logs.
#pragma once

#include <cstdint>

#include "weir/control/log_book.hpp"
#include "weir/control/run_control.hpp"
#include "weir/service/log_output.hpp"
#include "weir/service/timers.hpp"

namespace weir::app {

/// Reads behind the log, five times a second: a line has the run that there is when it is read.
class PartitionLog {
public:
    /// All that is passed outlives it. Nothing is done for an output that is not structured.
    PartitionLog(const control::LogBook& log, const control::RunControl& control, service::LogOutput& output,
                 service::Timers& timers);

    /// What there is still.
    void finish();

private:
    void write_new();

    const control::LogBook& log_;
    const control::RunControl& control_;
    service::LogOutput& output_;
    std::uint64_t last_ = 0;
    service::Timers::Periodic reads_;  // the last member: it ends before what it uses is gone
};

}  // namespace weir::app
