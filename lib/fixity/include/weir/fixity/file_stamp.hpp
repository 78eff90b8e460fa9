// SPDX-License-Identifier: Apache-2.0
// What a file system says about a file's content without reading it. Taken before and after a read on
// the same descriptor, it says whether somebody changed the file meanwhile.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "weir/base/result.hpp"

namespace weir::fixity {

struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    std::int64_t ctime_ns = 0;  // changes too when the name is taken by another file (rename, unlink)

    bool operator==(const FileStamp&) const = default;
};

[[nodiscard]] FileStamp stamp_of(const struct stat& status) noexcept;
/// Error: fstat failed (Errc::io).
[[nodiscard]] Result<FileStamp> stamp_of(int fd);

/// "it grew from 4 to 9 bytes", "it was replaced or its attributes changed", ...: how they differ.
[[nodiscard]] std::string difference(const FileStamp& before, const FileStamp& after);

}  // namespace weir::fixity
