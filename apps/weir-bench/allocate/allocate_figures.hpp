// SPDX-License-Identifier: Apache-2.0
// The rows of `weir bench allocate` as tables and as a plot.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "allocate/allocate_rows.hpp"
#include "figures/rows.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

void print_allocate_rows(const std::vector<BenchRow>& rows, const std::vector<std::string>& not_installed);
/// Throughput against threads, and memory against time.
[[nodiscard]] Result<> draw_allocate_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                                          const AllocateRuns& runs, const Machine& machine);

}  // namespace weir::app
