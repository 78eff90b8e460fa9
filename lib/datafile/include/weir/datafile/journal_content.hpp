// SPDX-License-Identifier: Apache-2.0
// The content of all journals of a directory, read after a crash.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/datafile/journal.hpp"

namespace weir::datafile {

/// Session numbers are valid in one journal file only, so they are given new ones here.
struct JournalContent {
    std::map<Guid, FileOpened> opened;
    std::map<Guid, std::vector<StoredCopy>> copies;
    std::vector<RejectedCopies> rejected;  // totals, in the order in which they were found
    std::uint32_t continues_in = 0;        // the number that the last journal names; 0: none
    std::vector<SessionDeclared> sessions;
    std::vector<Error> damages;  // any: the journals do not name all that was acknowledged

    /// The number of a session here; `declared.number` does not matter.
    std::uint32_t session(SessionDeclared declared);

private:
    std::map<std::tuple<std::string, std::uint64_t, std::uint32_t, std::uint32_t>, std::uint32_t> session_numbers_;
};

/// Where records stop being valid.
struct RecordDamage {
    std::uint64_t offset = 0;
    std::string reason;
    bool commit_behind = false;  // a valid one: what is damaged was synced
};

/// Calls `each` for every valid record, also behind damage. The first damage, when there is any.
std::optional<RecordDamage> for_each_valid_record(
    ConstData data, const std::function<void(const JournalRecord&, bool behind_damage)>& each);

/// Reads the journals, in their order, of one directory. The error: one of them cannot be read at all. Damage is
/// in the content, with every record that is valid all the same.
[[nodiscard]] Result<JournalContent> read_journals(const std::vector<std::filesystem::path>& journals);

}  // namespace weir::datafile
