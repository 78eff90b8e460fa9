// SPDX-License-Identifier: Apache-2.0
// The published load of a readout, over UDP on this machine: 24 kHz of level-2 requests (2 of 12 ROBs), 3 kHz of
// building requests (all 12) and grouped clears; and what the same readout does when it is asked as fast as it answers.
#pragma once

#include <vector>

#include "figures/rows.hpp"
#include "readout/readout.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

[[nodiscard]] Result<std::vector<BenchRow>> load_rows(const ReadoutBenchOptions& options);

}  // namespace weir::app
