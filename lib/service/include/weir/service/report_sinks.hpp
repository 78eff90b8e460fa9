// SPDX-License-Identifier: Apache-2.0
// The sinks that every station has: one line on stderr, and a counter by severity.
#pragma once

#include "weir/service/log_output.hpp"
#include "weir/service/metrics.hpp"
#include "weir/service/reports.hpp"

namespace weir::service {

/// One line a report, with the time in UTC, on stderr, or one entry in the journal.
[[nodiscard]] std::unique_ptr<ReportSink> log_sink(
    std::shared_ptr<LogOutput> output = std::make_shared<LogOutput>(LogOptions{}));

/// weir_reports_total{severity,shown}: every report, also those that the rate limit holds back. `metrics` must outlive
/// it.
[[nodiscard]] std::unique_ptr<ReportSink> counter_sink(Metrics& metrics);

}  // namespace weir::service
