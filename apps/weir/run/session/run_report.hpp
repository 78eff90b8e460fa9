// SPDX-License-Identifier: Apache-2.0
// What weir run reports of a run to people and programs: one line while it lasts, tables and a document at its end.
#pragma once

#include <filesystem>
#include <string>

#include "cli/output.hpp"
#include "run/session/run_log_sink.hpp"
#include "run/session/run_options.hpp"
#include "weir/control/run_control.hpp"

namespace weir::app {

/// "run 7  running  12,345 events  3,210/s  12,000 recorded in 2 files  1.2 GB". `before`: an earlier look, for the
/// rates.
[[nodiscard]] std::string progress_text(const control::PartitionView& now, const control::PartitionView& before);

[[nodiscard]] json::object result_json(const control::RunResult& result, const std::filesystem::path& directory);
/// `where` the recorded files are, for people: below it.
void print_result(const control::RunResult& result, const std::string& where);

/// When weir run ends: the result of its last run, in the directory's file and as `options` want it. The exit code.
/// `end`: the partition as it was last. `log` knows which problems were shown already.
[[nodiscard]] int report_end(const RunOptions& options, const control::PartitionView& end,
                             const std::filesystem::path& directory, bool on_hosts, const RunLogSink& log);

/// The answer of GET /partition, as a table.
void print_status(const json::object& partition);

/// Those of GET /alarms that nobody has acknowledged, a line each; nothing when there are none.
[[nodiscard]] std::string alarms_text(const json::array& alarms);

/// The machines of GET /partition as a table.
[[nodiscard]] std::string hosts_text(const json::array& hosts);

}  // namespace weir::app
