// SPDX-License-Identifier: Apache-2.0
// What an open file holds, as far as it can be proved: by the journal, written after the data were synced; by the
// file's own index, written before the journal and not synced, with a sum of each event; and, where both are damaged,
// by the structure of the file itself. A journal that was cut between two rounds looks like a younger one: so no event
// is cut off that the index proves, nor set aside unreported where there is no index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/file.hpp"
#include "weir/base/result.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/datafile/journal_content.hpp"
#include "weir/recovery/recovery.hpp"

namespace weir::recovery {

/// What remains of the index of an open file.
struct IndexEvidence {
    struct Entry {
        datafile::StoredCopy copy;  // its session as in JournalContent
        std::uint32_t round = 0;
    };
    bool is_there = false;
    /// All of what was written to it: the system has not gone down since, and nothing of it is damaged. Then nothing
    /// that it does not name was ever acknowledged, but for rounds for which the disk had no room in it: the journal
    /// names these.
    bool complete = false;
    std::optional<datafile::FileOpened> opened;
    std::vector<Entry> entries;
};

/// Behind the name of an index that recovery makes.
inline constexpr std::string_view recovering = ".recovering";

/// Of the file `name` (without ending): `.index.writing`, or where a close or a recovery was interrupted `.index` or,
/// when it is whole, `.index.recovering`: whichever has most.
[[nodiscard]] IndexEvidence read_open_index(const std::filesystem::path& directory, const std::string& name,
                                            datafile::JournalContent& journal);

struct OpenFileContent {
    std::vector<datafile::StoredCopy> copies;  // in file order, without a gap, from the first event on
    std::uint64_t end = 0;                     // behind the last of them
    std::uint64_t not_in_journal = 0;          // of these copies
    std::uint64_t rounds_not_in_journal = 0;   // a crash loses one, between index and journal
    std::uint64_t walked = 0;     // of these: whole events by their structure, and their senders are unknown
    std::uint64_t unreached = 0;  // acknowledged copies behind damage that cannot be bridged, as far as they are named
    /// Whole events may stand behind `end` that were acknowledged: the contrary cannot be proved.
    bool rest_may_count = false;
    std::uint64_t whole_end = 0;  // then: behind the last whole event that follows, else `end`
};

/// `named`: the record of this file in the journal. `trusted`: the journal is there and nothing shows that it is
/// damaged; else whole events that only their structure proves are taken as well. `durable_size`: how far the events of
/// a file that failed are durable, when that is known; what comes behind was given back to its senders.
[[nodiscard]] Result<OpenFileContent> content_of(const File& file, const datafile::FileOpened& opened,
                                                 const std::vector<datafile::StoredCopy>& named,
                                                 const IndexEvidence& index, bool trusted,
                                                 datafile::JournalContent& journal,
                                                 const StoredElsewhere& stored_elsewhere,
                                                 std::optional<std::uint64_t> durable_size);

/// The event that begins at `offset`, when a whole one does and has this block number.
[[nodiscard]] Result<std::optional<datafile::StoredCopy>> whole_event_at(const File& file,
                                                                         const datafile::FileOpened& opened,
                                                                         std::uint64_t offset,
                                                                         std::uint32_t block_number);

}  // namespace weir::recovery
