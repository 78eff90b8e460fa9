// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/file_stamp.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace weir::fixity {
namespace {

std::int64_t nanoseconds(const timespec& time) noexcept {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_nsec};
}

}  // namespace

FileStamp stamp_of(const struct stat& status) noexcept {
    return {.device = static_cast<std::uint64_t>(status.st_dev),
            .inode = static_cast<std::uint64_t>(status.st_ino),
            .size = static_cast<std::uint64_t>(status.st_size),
            .mtime_ns = nanoseconds(status.st_mtim),
            .ctime_ns = nanoseconds(status.st_ctim)};
}

Result<FileStamp> stamp_of(int fd) {
    struct stat status{};
    if (::fstat(fd, &status) != 0) return fail_errno(errno, "cannot stat");
    return stamp_of(status);
}

std::string difference(const FileStamp& before, const FileStamp& after) {
    if (after.size > before.size) return fmt::format("it grew from {} to {} bytes", before.size, after.size);
    if (after.size < before.size) return fmt::format("it shrank from {} to {} bytes", before.size, after.size);
    if (after.mtime_ns != before.mtime_ns) return "it was written to";
    if (after.inode != before.inode || after.device != before.device) return "another file took its place";
    return "it was replaced, renamed or had its attributes changed";
}

}  // namespace weir::fixity
