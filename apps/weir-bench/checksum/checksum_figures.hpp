// SPDX-License-Identifier: Apache-2.0
// The rows of `weir bench checksum` as people read them.
#pragma once

#include <filesystem>
#include <vector>

#include "figures/rows.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

/// Tables: sums with one column a size, copies, combines; ours with its ratio to the best peer.
void print_checksum_rows(const std::vector<BenchRow>& rows);

/// Throughput against size, one panel an algorithm.
[[nodiscard]] Result<> draw_checksum_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                                          const Machine& machine);

}  // namespace weir::app
