// SPDX-License-Identifier: Apache-2.0
// Fragments from outside into the buffers of a readout, by TCP over this machine, cleared and not built; beside a loop
// that reads the same messages, checks their crc32c and copies them once.
#pragma once

#include <vector>

#include "figures/rows.hpp"
#include "readout/readout.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

[[nodiscard]] Result<std::vector<BenchRow>> input_rows(const ReadoutBenchOptions& options);

}  // namespace weir::app
