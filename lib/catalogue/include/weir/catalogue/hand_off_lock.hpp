// SPDX-License-Identifier: Apache-2.0
// Only one process at a time hands over, moves or deletes what a catalogue names, or sets that catalogue aside: a lock
// of the kernel's beside the catalogue, which ends with its process. The recorder does not need it: it only adds.
#pragma once

#include <filesystem>

#include "weir/base/file.hpp"

namespace weir::catalogue {

class HandOffLock {
public:
    /// `catalogue`: its file, which need not be there. The lock is `weir-handoff.lock` beside the catalogue of a
    /// directory, else the name of the file with `.handoff-lock`. Errc::refused names the process that holds it.
    [[nodiscard]] static Result<HandOffLock> take(const std::filesystem::path& catalogue);

private:
    explicit HandOffLock(File file) : file_(std::move(file)) {}
    File file_;
};

}  // namespace weir::catalogue
