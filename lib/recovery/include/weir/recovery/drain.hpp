// SPDX-License-Identifier: Apache-2.0
// Empties a volume: its closed files move to other volumes, one at a time. Each is copied with its index, read back
// from the other disk, and only then known there to the catalogue and removed here. Stopped at any instruction and
// begun again it ends the same: what was half copied is copied anew, what was copied is found.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"
#include "weir/catalogue/catalogue.hpp"

namespace weir::recovery {

struct DrainOptions {
    std::filesystem::path volume;
    std::vector<std::filesystem::path> targets;         // each file goes to the one with the most free space
    std::function<void(std::uint64_t bytes)> progress;  // copied since the last call
    std::function<bool()> stop;                         // asked between files; nothing: never
};

struct DrainResult {
    std::uint64_t files = 0;  // moved
    std::uint64_t bytes = 0;
    std::uint64_t open = 0;     // still there: being written, or their recorder died
    std::uint64_t unknown = 0;  // .data files there that the catalogue does not know
    std::vector<Error> failed;  // files that stay, and why
    bool stopped = false;
};

/// What is to be moved, by size of the files.
[[nodiscard]] Result<Bytes> drain_size(const std::filesystem::path& volume, catalogue::Catalogue& catalogue);

/// The catalogue's recorder may be running. The error: nothing can be moved at all.
[[nodiscard]] Result<DrainResult> drain_volume(const DrainOptions& options, catalogue::Catalogue& catalogue);

}  // namespace weir::recovery
