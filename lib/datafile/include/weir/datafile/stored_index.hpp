// SPDX-License-Identifier: Apache-2.0
// The index of a closed file, read back.
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "weir/datafile/journal.hpp"

namespace weir::datafile {

struct StoredIndex {
    FileOpened opened;
    std::map<std::uint32_t, SessionDeclared> sessions;
    std::vector<StoredCopy> copies;  // in file order
    FileClosed closed;

    /// Errc::corrupt names the file, the offset and the reason.
    [[nodiscard]] static Result<StoredIndex> read(const std::filesystem::path& path);
};

/// `x.data` or `x.writing` -> `x.index`.
[[nodiscard]] std::filesystem::path index_path_of(const std::filesystem::path& data_file);

/// The whole of a journal or index file.
[[nodiscard]] Result<std::vector<std::byte>> read_records(const std::filesystem::path& path);

}  // namespace weir::datafile
