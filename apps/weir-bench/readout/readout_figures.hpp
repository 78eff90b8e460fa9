// SPDX-License-Identifier: Apache-2.0
// The rows of `weir bench readout` as people read them.
#pragma once

#include <filesystem>
#include <vector>

#include "figures/rows.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

void print_readout_rows(const std::vector<BenchRow>& rows);

/// Request rate above, CPU per request below, against the number of handlers; a panel for each latency.
[[nodiscard]] Result<> draw_readout_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                                         const Machine& machine);

}  // namespace weir::app
