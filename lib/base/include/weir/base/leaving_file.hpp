// SPDX-License-Identifier: Apache-2.0
// A closed file that is about to be removed because it is safe elsewhere. Its data lies under another name
// while the places elsewhere are asked once more: one that lost the file at the same moment is this very
// file, seen under another path, and no copy. So a crash may leave the last bytes under that name; the next
// hand-off or recovery renames such files back.
#pragma once

#include <filesystem>

#include "weir/base/file.hpp"

namespace weir {

/// The name of a file that is about to be removed: its own with ".leaving" behind it.
[[nodiscard]] std::filesystem::path leaving_name(const std::filesystem::path& file);

/// Renames every file of the directory that was about to be removed to its own name. How many. One whose name is taken
/// by another file stays as it is, and is the Error when all others are done.
[[nodiscard]] Result<std::size_t> restore_leaving_files(const std::filesystem::path& directory,
                                                        FileSystem& system = real_file_system());

}  // namespace weir
