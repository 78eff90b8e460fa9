// SPDX-License-Identifier: Apache-2.0
// A selection that fails is an alarm of its station: one for each way to fail, whatever the number of events. One that
// has perhaps ended the station's process before this one runs in processes from then on, and that is reported.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "weir/base/report.hpp"
#include "weir/selection/selector.hpp"

namespace weir::selection {

[[nodiscard]] inline Report selection_alarm(const std::string& selection, Trouble trouble, std::string why) {
    return {.severity = Severity::warning,
            .what = trouble == Trouble::timed_out ? "selection timed out" : fmt::format("selection {}", name(trouble)),
            .where = selection,
            .why = std::move(why),
            .alarm = fmt::format("selection_{}", name(trouble))};
}

inline void distrust(Selection& selection, const Reporter& report) {
    if (!selection.distrust()) return;
    report.warning(
        fmt::format("the selection {} runs in processes now, until the station is configured anew: another "
                    "process of the station ended in this run, "
                    "perhaps because of it",
                    selection.name()));
}

}  // namespace weir::selection
