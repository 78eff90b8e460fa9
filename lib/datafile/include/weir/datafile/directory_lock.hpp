// SPDX-License-Identifier: Apache-2.0
// Only one recorder may use a directory: a lock of the kernel's, which ends with its process. What is written
// into the file (process, host, boot) is for people.
#pragma once

#include <filesystem>

#include "weir/base/file.hpp"

namespace weir::datafile {

class DirectoryLock {
public:
    /// Errc::refused names the process that holds the lock.
    [[nodiscard]] static Result<DirectoryLock> take(const std::filesystem::path& directory);

    [[nodiscard]] const File& file() const noexcept { return file_; }

private:
    explicit DirectoryLock(File file) : file_(std::move(file)) {}
    File file_;
};

}  // namespace weir::datafile
