// SPDX-License-Identifier: Apache-2.0
// Which events of a run are durable: those in the indexes of its files, and in the marks of the files that are deleted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/catalogue/catalogue.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/recovery/marks.hpp"
#include "weir/wire/sequence_set.hpp"
#include "weir/wire/session.hpp"

namespace weir::recovery {

/// Which events of a run are durable, from the indexes of its files and the marks of deleted ones.
struct RunHoldings {
    void add(const datafile::StoredIndex& index);
    [[nodiscard]] Result<> add_marks(RunNumber run, const std::string& recorder, catalogue::Catalogue& catalogue);
    [[nodiscard]] std::vector<catalogue::SessionMark> marks(RunNumber run, const std::string& recorder) const;

    std::map<wire::SessionKey, wire::SequenceSet> durable;                   // all copies are there
    std::map<std::pair<wire::SessionKey, Sequence>, std::uint64_t> partial;  // some are: bit n = copy n
    std::optional<EventHoldings> events;                                     // when they are to be kept

private:
    void add_events(const datafile::StoredIndex& index);
};
/// Whether the ids of its events are kept; as_marked: when a recorder has done so.
enum class KeepEvents { no, yes, as_marked };
[[nodiscard]] Result<RunHoldings> run_holdings(RunNumber run, std::span<const std::filesystem::path> directories,
                                               catalogue::Catalogue& catalogue, const std::string& recorder,
                                               KeepEvents events = KeepEvents::no);

/// Writes the marks of every run that is open and has files in the directories: recovery has closed files without
/// marks, and what is closed may be handed over and deleted with its index. After recover_and_record() of all of a
/// recorder's directories, and before it records: no other program may write marks of these runs meanwhile.
[[nodiscard]] Result<> keep_marks(std::span<const std::filesystem::path> directories, catalogue::Catalogue& catalogue);

}  // namespace weir::recovery
