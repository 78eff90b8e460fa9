// SPDX-License-Identifier: Apache-2.0
// The rows of `weir bench parallel` as people read them.
#pragma once

#include <filesystem>
#include <vector>

#include "figures/rows.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

void print_parallel_rows(const std::vector<BenchRow>& rows);

/// Speed-up against the size of the event, a panel for each kernel, with the cutoffs marked.
[[nodiscard]] Result<> draw_parallel_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                                          const Machine& machine);

}  // namespace weir::app
