// SPDX-License-Identifier: Apache-2.0
// The rows of `weir bench build` as tables, and figure 3 of the paper as a picture.
#pragma once

#include <filesystem>
#include <vector>

#include "figures/machine.hpp"
#include "figures/rows.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

void print_build_rows(const std::vector<BenchRow>& rows);
[[nodiscard]] Result<> draw_build_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                                       const Machine& machine);

}  // namespace weir::app
