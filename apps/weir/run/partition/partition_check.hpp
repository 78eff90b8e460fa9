// SPDX-License-Identifier: Apache-2.0
// Everything about a partition file that can be known before its stations run.
#pragma once

#include <filesystem>
#include <vector>

#include "weir/control/partition.hpp"

namespace weir::app {

/// The whole, and every section with the table of its station. Errc::usage: one line with file, line, and what to
/// change.
[[nodiscard]] Result<control::Partition> check_partition(const std::filesystem::path& file,
                                                         const std::vector<std::filesystem::path>& sources = {});

}  // namespace weir::app
