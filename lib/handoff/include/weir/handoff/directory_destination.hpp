// SPDX-License-Identifier: Apache-2.0
// Another directory as a destination: a second disk, a mounted file system. A file is synced before its sum
// is made, and the sum is made by reading it back past the page cache (O_DIRECT where the file system has
// it, else with the cache dropped): of what is stored, not of what was written.
#pragma once

#include <filesystem>

#include "weir/base/file.hpp"
#include "weir/handoff/destination.hpp"

namespace weir::handoff {

/// The directory must be there: one that is missing is a disk that is not mounted, and must not be filled in
/// its place. `system` must outlive the destination.
[[nodiscard]] std::unique_ptr<Destination> directory_destination(std::string name, std::filesystem::path root,
                                                                 FileSystem& system = real_file_system());

/// Errc::usage when a recorder writes into this directory (it holds weir.lock): what lies there is no copy.
[[nodiscard]] Result<> refuse_recorder_directory(const std::filesystem::path& directory);

}  // namespace weir::handoff
