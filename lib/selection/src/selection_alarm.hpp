// SPDX-License-Identifier: Apache-2.0
// A selection that fails is an alarm of its station: one for each way to fail, whatever the number of events.
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

}  // namespace weir::selection
