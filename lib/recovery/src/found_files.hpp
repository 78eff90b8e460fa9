// SPDX-License-Identifier: Apache-2.0
// The raw files that lie in the directories of a recorder, by their names.
#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/event/raw_file_name.hpp"

namespace weir::recovery {

using RunAtRecorder = std::pair<RunNumber, std::string>;

struct FoundFile {
    std::filesystem::path path;
    event::RawFileName name;
};

/// What stands in the names of a directory's files.
struct FoundFiles {
    std::vector<FoundFile> closed;
    std::set<RunAtRecorder> runs;         // of closed and open files
    std::set<RunAtRecorder> interrupted;  // a recorder died in them
};

[[nodiscard]] Result<FoundFiles> find_files(std::span<const std::filesystem::path> directories);

/// The files of a directory whose names end so, sorted.
[[nodiscard]] Result<std::vector<std::filesystem::path>> files_ending(const std::filesystem::path& directory,
                                                                      std::string_view ending);

/// Without links, dots and slashes at the end: as the catalogue has them.
[[nodiscard]] Result<std::filesystem::path> one_spelling(const std::filesystem::path& directory);
[[nodiscard]] Result<std::vector<std::filesystem::path>> one_spelling(
    std::span<const std::filesystem::path> directories);

}  // namespace weir::recovery
