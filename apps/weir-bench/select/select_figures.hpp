// SPDX-License-Identifier: Apache-2.0
// The rows of `weir bench select` as a table and as a plot.
#pragma once

#include <filesystem>
#include <vector>

#include "figures/rows.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

void print_select_rows(const std::vector<BenchRow>& rows);
[[nodiscard]] Result<> draw_select_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                                        const Machine& machine);

}  // namespace weir::app
