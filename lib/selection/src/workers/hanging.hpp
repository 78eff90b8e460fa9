// SPDX-License-Identifier: Apache-2.0
// When a selection in a thread of ours hangs, and a report of each event once: only the end of the process ends such a
// thread.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/report.hpp"

namespace weir::selection {

/// A selection that has run for longer than this hangs.
[[nodiscard]] constexpr std::chrono::nanoseconds hangs_after(std::chrono::nanoseconds time_limit) {
    return 2 * time_limit;
}

/// For how long the one that was begun first has hung: the counter that run control looks at. 0: none hangs.
[[nodiscard]] inline double hanging_seconds(std::chrono::nanoseconds longest, std::chrono::nanoseconds hangs_after) {
    return std::max(0.0, std::chrono::duration<double>(longest - hangs_after).count());
}

class Hanging {
public:
    void look(const std::vector<GlobalEventId>& stuck, const std::string& selection, const Reporter& report) {
        for (const auto event : stuck) {
            if (std::ranges::find(known_, event) != known_.end()) continue;
            report({.severity = Severity::error,
                    .what = "selection hangs",
                    .where = selection,
                    .why = fmt::format("it does not come back from event {}", number(event)),
                    .advice =
                        "run control starts this station again after hanging_after, weir run replace does it at once; "
                        "with workers_are = \"processes\" only a process ends",
                    .alarm = "selection_hangs"});
        }
        known_ = stuck;
    }

private:
    std::vector<GlobalEventId> known_;
};

}  // namespace weir::selection
