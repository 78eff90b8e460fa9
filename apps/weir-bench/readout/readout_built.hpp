// SPDX-License-Identifier: Apache-2.0
// Fragments from outside, or from a plug-in, with trigger and building behind the readout: the rate of built fragments,
// the processor time of each stage, and the stage that limits the rate.
#pragma once

#include <vector>

#include "figures/rows.hpp"
#include "readout/readout.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

[[nodiscard]] Result<std::vector<BenchRow>> built_rows(const ReadoutBenchOptions& options);

}  // namespace weir::app
