// SPDX-License-Identifier: Apache-2.0
// Triggers a second of a supervisor, and what they cost: from plug-ins in C++ and in Python, from a program outside
// that uses the client library, and made by the supervisor itself, beside which the others can be seen.
#pragma once

#include <vector>

#include "figures/rows.hpp"
#include "readout/readout.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

[[nodiscard]] Result<std::vector<BenchRow>> trigger_rows(const ReadoutBenchOptions& options);

}  // namespace weir::app
