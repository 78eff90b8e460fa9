// SPDX-License-Identifier: Apache-2.0
// A selection that fails is an alarm of its station: one for each way to fail, whatever the number of events. One that
// has perhaps ended the station's process before this one runs in processes from then on, and that is reported.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "weir/selection/selector.hpp"
#include "weir/service/reports.hpp"

namespace weir::selection {

inline void raise_selection_alarm(service::Reports& reports, const std::string& selection, Trouble trouble,
                                  std::string text) {
    service::Report report;
    report.severity = service::Severity::warning;
    report.what = trouble == Trouble::timed_out ? "selection timed out" : fmt::format("selection {}", name(trouble));
    report.where = selection;
    report.why = std::move(text);
    reports.raise(fmt::format("selection_{}", name(trouble)), std::move(report));
}

inline void distrust(Selection& selection, service::Reports& reports) {
    if (!selection.distrust()) return;
    warn(reports, fmt::format("the selection {} runs in processes now, until the station is configured anew: another "
                              "process of the station ended in this run, "
                              "perhaps because of it",
                              selection.name()));
}

}  // namespace weir::selection
