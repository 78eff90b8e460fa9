// SPDX-License-Identifier: Apache-2.0
// How a file gets a new name without ever overwriting one that is there. Linux has a flag for it that many file systems
// lack (NFS, ntfs-3g, most of FUSE); each of the other ways is a little weaker, so the way that is used can be
// reported.
#pragma once

#include <array>
#include <filesystem>

#include "weir/base/result.hpp"

namespace weir {

enum class RenameWay {
    no_replace,  // renameat2 with RENAME_NOREPLACE
    link,        // link, which never overwrites, then unlink: a crash between them leaves both names
    look,        // no such name seen, then rename: other programs must keep away from the directory
};
inline constexpr std::array rename_ways{RenameWay::no_replace, RenameWay::link, RenameWay::look};  // the best first

/// For the log: "RENAME_NOREPLACE", "link and unlink", "a look, then rename".
[[nodiscard]] const char* name(RenameWay way) noexcept;

/// As rename(2); EEXIST when the target is there.
[[nodiscard]] int rename_by(RenameWay way, const char* from, const char* to) noexcept;

/// Whether this error of a way means that the file system does not have it: then the next one is tried.
[[nodiscard]] bool lacks_way(int error) noexcept;

/// Which way works in a directory, found out with two small files of its own.
[[nodiscard]] Result<RenameWay> find_rename_way(const std::filesystem::path& directory);

}  // namespace weir
