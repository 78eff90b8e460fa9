// SPDX-License-Identifier: Apache-2.0
// Direct I/O: writes that pass the page cache by.
#pragma once

#include <filesystem>

namespace weir::recorder {

enum class DirectIo { automatic, on, off };

/// Whether `automatic` means direct I/O there: on file systems where it was measured to help.
[[nodiscard]] bool direct_by_itself(const std::filesystem::path& directory);

}  // namespace weir::recorder
