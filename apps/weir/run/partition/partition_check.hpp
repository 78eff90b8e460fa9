// SPDX-License-Identifier: Apache-2.0
// Everything about a partition file that can be known before its stations run.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "weir/control/partition.hpp"

namespace weir::app {

/// The whole of a file's text, and every section with the table of its station. Errc::usage: one line with file, line,
/// and what to change. Files that stations of other machines read are not looked for here.
[[nodiscard]] Result<control::Partition> check_partition(std::string_view text, const std::filesystem::path& file,
                                                         const std::vector<std::filesystem::path>& sources = {});

}  // namespace weir::app
