// SPDX-License-Identifier: Apache-2.0
// All that the journals of a directory say, read after a crash.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/storage/journal.hpp"

namespace weir::storage {

/// Lane numbers are valid in one journal file only, so they are given new ones here.
struct JournalContent {
    std::map<Guid, FileOpened> opened;
    std::map<Guid, std::vector<StoredCopy>> copies;
    std::map<Guid, Error> lost;      // files of which a journal names more events than are in those before it
    std::uint32_t continues_in = 0;  // what the last journal that was read says; 0: nothing
    std::vector<LaneDeclared> lanes;
    std::vector<Error> damages;

    /// The number of a lane here; `declared.number` does not matter.
    std::uint32_t lane(LaneDeclared declared);

private:
    std::map<std::tuple<std::string, std::uint64_t, std::uint32_t, std::uint32_t>, std::uint32_t> lane_numbers_;
};

/// Reads the journals, in their order, of one directory. The error: one of them cannot be read at all. Damage is
/// in the content: nobody may then cut files by what the rest says.
[[nodiscard]] Result<JournalContent> read_journals(const std::vector<std::filesystem::path>& journals);

}  // namespace weir::storage
