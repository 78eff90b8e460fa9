// SPDX-License-Identifier: Apache-2.0
// How one file that was left open is closed: cut behind the last event that counts, with end record, index, sums and
// its final name; and what is kept of the bytes behind it. Which events count is for the caller to know
// (recovery.cpp), but for a file without a journal, which is walked (recover_file_by_walking()), and for one that
// failed while its recorder lives on (close_up()).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "recover/open_file_content.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/recovery/recovery.hpp"

namespace weir::recovery {

/// Ends a file after the copies that are known to be there, and gives it index, attribute and name. `sessions` are
/// those that the copies name. Error: the file stays as it is, or is still open and can be finished again.
[[nodiscard]] Result<RecoveredFile> finish_file(const std::filesystem::path& directory,
                                                const datafile::FileOpened& opened,
                                                const std::vector<datafile::StoredCopy>& copies,
                                                const std::vector<datafile::SessionDeclared>& sessions,
                                                const Clock& clock, FileSystem& system,
                                                std::string_view index_ending = recovering);

/// What was acknowledged of a file without a journal is unknown: a copy of what lies behind `end`, up to its last
/// byte that is not zero, and at least up to `whole_end`, where whole events end, under a name that was free. Nothing:
/// there are only zeros.
[[nodiscard]] Result<std::optional<std::filesystem::path>> keep_rest(const std::filesystem::path& writing,
                                                                     std::uint64_t end, std::uint64_t whole_end,
                                                                     FileSystem& system);

}  // namespace weir::recovery
