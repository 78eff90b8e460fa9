// SPDX-License-Identifier: Apache-2.0
// Measured figures as programs read them: one row a figure, peers and limits beside ours.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "figures/machine.hpp"

namespace weir::app {

struct BenchRow {
    std::string name;                // what was measured: "adler32", "copy", "hand-over", ...
    bool peer = false;               // another library, or a limit of the machine
    boost::json::object parameters;  // "implementation", "bytes", "threads", ...
    Spread value;
    std::string unit;
};

[[nodiscard]] boost::json::object to_json(const Machine& machine);

/// The document of `weir bench NAME --json`; `more` is put between the machine and the rows.
[[nodiscard]] boost::json::object bench_document(std::string_view bench, const Machine& machine,
                                                 const std::vector<BenchRow>& rows, boost::json::object more = {});

/// "AMD EPYC: 2 cores, ..." in two lines.
void print_machine(const Machine& machine);

}  // namespace weir::app
