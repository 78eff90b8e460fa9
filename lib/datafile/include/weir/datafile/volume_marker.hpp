// SPDX-License-Identifier: Apache-2.0
// `weir.volume`, a small file in each directory that is recorded into: it confirms that the directory is meant. Below
// the place of a disk that is not mounted there is another directory, which has none; without this, recording would
// fill the disk of the system unnoticed. docs/formats/volume-marker.md.
#pragma once

#include <filesystem>
#include <optional>

#include "weir/base/file.hpp"
#include "weir/base/guid.hpp"

namespace weir::datafile {

inline constexpr const char* volume_marker_name = "weir.volume";

/// The id of the marker, which is made when there is none. The caller holds the directory's lock. Zeros: there is no
/// room for it now.
[[nodiscard]] Result<Guid> mark_directory(const std::filesystem::path& directory,
                                          FileSystem& system = real_file_system());

/// Nothing: no marker, or it has no id.
[[nodiscard]] std::optional<Guid> read_volume_marker(const std::filesystem::path& directory);

}  // namespace weir::datafile
