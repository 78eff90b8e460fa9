// SPDX-License-Identifier: Apache-2.0
// Whether a directory is meant to be recorded into: docs/formats/volume-marker.md.
#pragma once

#include <filesystem>

#include "weir/base/result.hpp"

namespace weir::recorder {

/// Whether a recorder may use the directory: it has a marker (an empty file will do). `create`: any; one that is not
/// there is made. Else ENOENT or Errc::refused, and what to do.
[[nodiscard]] Result<> check_directory(const std::filesystem::path& directory, bool create);

}  // namespace weir::recorder
