// SPDX-License-Identifier: Apache-2.0
// What to do with a directory of a recorder that died: every file that was open is cut after its last
// event that is proved, gets its end record, index, sums and final name, and is marked TRUNCATED. The
// journal proves what is on stable storage, so no event data are read that it names. What may have been acknowledged
// and is not in a journal, because that is damaged, is kept and reported (decision 14). Doing it twice is the same as
// once.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/file.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/datafile/journal.hpp"

namespace weir::recovery {

struct RecoveredFile {
    std::filesystem::path path;  // its final one
    datafile::FileOpened opened;
    datafile::FileClosed closed;
    std::uint64_t bytes_cut = 0;                  // behind the last acknowledged event
    bool without_journal = false;                 // found by walking the file, because the directory has no journal
    bool closed_by_recorder = false;              // complete: only the catalogue may not have it yet
    std::optional<std::filesystem::path> rest{};  // a copy of what was cut, where it may count and was not all zeros
    std::uint64_t not_in_journal = 0;             // of its events: proved by the index, or by their structure
    std::uint64_t walked = 0;                     // of these: by their structure, and their senders are unknown
};

/// A file that is neither open nor closed, while its index names events that may have been acknowledged.
struct GoneFile {
    std::filesystem::path index;
    std::optional<Guid> guid;  // nothing: the index has none
    Error doubt;
};

struct RecoveryResult {
    std::vector<RecoveredFile> files;
    std::vector<std::filesystem::path> removed;  // never held an acknowledged event
    std::vector<Error> failed;                   // files that are unchanged, and why
    std::vector<datafile::FileOpened>
        vanished;                  // held acknowledged events according to the journal, and are not there at all
    std::vector<GoneFile> gone{};  // of recover_directory(): the catalogue may know that they were closed
    /// What was dealt with and an operator has to know: a journal that is damaged or gone, events that it should name
    /// and does not, what was set aside because it may have been acknowledged.
    std::vector<Error> doubts;
    bool journals_damaged = false;
    std::vector<datafile::RejectedCopies> rejected{};  // from the journals
};

/// Whether a copy is in another file already: its sender was asked for it again, because the file that is recovered had
/// failed.
using StoredElsewhere = std::function<bool(const datafile::SessionDeclared& session, const datafile::StoredCopy& copy)>;

/// Of files that failed while they were recorded: how far their events are durable. A journal may name events
/// beyond it, because its own sync failed; those were given back to their senders and are in other files.
using DurableSizes = std::map<Guid, std::uint64_t>;

/// The caller holds the directory's lock. The journals stay: remove_journals() when the catalogue knows
/// and nothing failed.
[[nodiscard]] Result<RecoveryResult> recover_directory(const std::filesystem::path& directory, const Clock& clock,
                                                       const DurableSizes& durable_sizes = {},
                                                       const StoredElsewhere& stored_elsewhere = {},
                                                       FileSystem& system = real_file_system());

/// Where the index of a file that is closed up is made: beside the one that the file had while it was written, which is
/// removed when the new one is whole; or over it, on a disk that has no room for both.
enum class IndexPlace { beside, over };

/// Closes one file that failed while its recorder lives on, behind its last durable event, and proves it: reads
/// all of it back and compares. Errc::corrupt: what was acknowledged is not there any more.
[[nodiscard]] Result<RecoveredFile> close_up(const std::filesystem::path& directory, const datafile::FileOpened& opened,
                                             std::uint64_t durable_size, std::uint64_t durable_events,
                                             const Clock& clock, FileSystem& system,
                                             IndexPlace place = IndexPlace::beside);

[[nodiscard]] Result<> remove_journals(const std::filesystem::path& directory, FileSystem& system = real_file_system());

/// Of damaged ones, which are kept for inspection: renamed to NAME.damaged-N.
[[nodiscard]] Result<> set_journals_aside(const std::filesystem::path& directory,
                                          FileSystem& system = real_file_system());

/// Closes one file that a crash left open, by walking its events: for files without a journal, of other
/// recorders too. What comes behind the last whole one is cut off, and kept beside it
/// (`rest`). When something cannot be read or is too large to be read the file stays as it is.
[[nodiscard]] Result<RecoveredFile> recover_file_by_walking(const std::filesystem::path& writing, const Clock& clock,
                                                            FileSystem& system = real_file_system());

/// Enters in the catalogue what was recovered: closed, TRUNCATED, with sums. Files that it does not know are added,
/// under the recorder that their name gives (`recorder` when it gives none).
[[nodiscard]] Result<> record_recovery(const RecoveryResult& result, const std::string& recorder,
                                       catalogue::Catalogue& catalogue, const Clock& clock);

/// Whether recovery brings the rejected copies of a journal into the catalogue. Not while the recorder lives that
/// wrote it: it enters them itself.
enum class JournalCounts { enter, known };

/// All of it, for one directory: recovers, records, removes the journals when nothing failed, or sets damaged ones
/// aside.
[[nodiscard]] Result<RecoveryResult> recover_and_record(const std::filesystem::path& directory,
                                                        const std::string& recorder, catalogue::Catalogue& catalogue,
                                                        const Clock& clock, FileSystem& system = real_file_system(),
                                                        JournalCounts counts = JournalCounts::enter);

}  // namespace weir::recovery
