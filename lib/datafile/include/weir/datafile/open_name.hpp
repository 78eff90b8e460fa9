// SPDX-License-Identifier: Apache-2.0
// A file that is open, and its name. The name can be removed, renamed or given to another file while the recorder
// writes; the descriptor goes on to work, and what is written through it is gone when it is closed. So it is compared
// now and then, and what the descriptor still reaches is written again under the name.
#pragma once

#include <filesystem>

#include "weir/base/file.hpp"

namespace weir::datafile {

/// Whether `path` leads to the open file. True where the system does not know.
[[nodiscard]] bool has_name(const File& file, const std::filesystem::path& path);

/// The first `size` bytes of an open file (fewer when it is shorter) as a new file under `path`, on stable storage with
/// its name. A crash before the end leaves `NAME.cut-N`. Nothing may write to `open` meanwhile. Errno EEXIST: the name
/// is taken.
[[nodiscard]] Result<File> write_again(const File& open, std::uint64_t size, const std::filesystem::path& path,
                                       FileSystem& system);

/// Renames to `NAME.foreign-N`, a name that was free. The caller syncs the directory.
[[nodiscard]] Result<std::filesystem::path> set_foreign_aside(const std::filesystem::path& path, FileSystem& system);

}  // namespace weir::datafile
