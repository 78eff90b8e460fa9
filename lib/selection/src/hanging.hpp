// SPDX-License-Identifier: Apache-2.0
// Says once of each event that its selection hangs in a thread of ours: nothing can end that but another process.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/service/reports.hpp"

namespace weir::selection {

class Hanging {
public:
    void look(const std::vector<GlobalEventId>& stuck, const std::string& selection, Reports& reports) {
        for (const auto event : stuck) {
            if (std::ranges::find(known_, event) != known_.end()) continue;
            Report report;
            report.severity = Severity::error;
            report.what = "selection hangs";
            report.where = selection;
            report.why = fmt::format("it does not come back from event {}", number(event));
            report.advice = "replace this station; workers_are = \"processes\" lets such an event cost a process only";
            reports.raise("selection_hangs", std::move(report));
        }
        known_ = stuck;
    }

private:
    std::vector<GlobalEventId> known_;
};

}  // namespace weir::selection
