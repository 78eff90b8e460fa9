// SPDX-License-Identifier: Apache-2.0
// What `weir recover DIR...` does, for `weir record --recover`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weir::app {

/// Closes the files that an earlier recorder had open in these directories and reports it. The exit code.
[[nodiscard]] int recover_directories_of(const std::vector<std::filesystem::path>& directories,
                                         const std::string& recorder, const std::string& catalogue, bool json);

}  // namespace weir::app
