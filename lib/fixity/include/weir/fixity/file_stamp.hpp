// SPDX-License-Identifier: Apache-2.0
// The metadata of a file by which changes are detected without reading it. Two stamps, taken before and
// after a read on the same descriptor, differ when the file was changed meanwhile.
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
