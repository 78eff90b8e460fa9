// SPDX-License-Identifier: Apache-2.0
// What recovery enters in the catalogue, and what it reads from it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "found_files.hpp"
#include "weir/base/file.hpp"
#include "weir/datafile/journal_content.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/event/raw_file_name.hpp"
#include "weir/recovery/ledger_rows.hpp"
#include "weir/recovery/recovery.hpp"
#include "weir/recovery/run_holdings.hpp"

namespace weir::recovery {

namespace {

/// The row of a file that was open, is gone, and may have held acknowledged events. It is closed, so that its run can
/// be.
void close_as_missing(catalogue::FileRow& row, WallTime now) {
    row.name = std::filesystem::path(row.name).replace_extension(".data").native();
    row.file_state = catalogue::FileState::closed;
    row.file_health = catalogue::FileHealth::quarantined;
    row.events = row.bytes = row.event_bytes = 0;
    row.closed = now;
}

bool is_missing(const catalogue::FileRow& row) {
    return row.file_state == catalogue::FileState::closed && row.file_health == catalogue::FileHealth::quarantined &&
           row.bytes == 0;
}

}  // namespace

Result<> record_recovery(const RecoveryResult& result, const std::string& recorder, catalogue::Catalogue& catalogue,
                         const Clock& clock) {
    for (const auto& file : result.files) {
        catalogue::FileRow row;
        row.guid = file.opened.guid;
        row.volume = file.path.parent_path().native();
        row.name = file.path.filename().native();
        row.run = file.opened.run;
        const auto named = event::parse_raw_file_name(row.name);
        row.recorder = named ? named->name.application : recorder;
        row.stream_type = file.opened.stream_type;
        row.stream_name = file.opened.stream_name;
        row.lumi_block = file.opened.lumi_block;
        row.sequence = file.opened.sequence;
        row.format = fmt::format("raw-{}", file.opened.file_version);
        row.events = file.closed.events;
        row.bytes = file.closed.size;
        row.event_bytes = file.closed.bytes;
        row.first_event = file.closed.content.first_event;
        row.last_event = file.closed.content.last_event;
        if (file.opened.has_adler32) row.sums.push_back({"adler32", fmt::format("{:08x}", file.closed.adler32)});
        row.sums.push_back({"crc32c", fmt::format("{:08x}", file.closed.crc32c)});
        row.file_state = catalogue::FileState::closed;
        row.opened = row.closed.emplace(clock.wall());
        const auto known = WEIR_TRY(catalogue.file(row.guid));
        const bool was_missing = known && is_missing(*known);  // and was restored
        if (known && known->file_state == catalogue::FileState::closed && !was_missing) continue;
        // A file that was closed whole is sane, even when the recorder died before the catalogue had it.
        row.file_health = file.closed_by_recorder && !file.closed.cut ? catalogue::FileHealth::sane
                                                                      : catalogue::FileHealth::truncated;
        if (known) {
            if (!was_missing && known->file_health == catalogue::FileHealth::quarantined)
                row.file_health = catalogue::FileHealth::quarantined;
            row.opened = known->opened;
            row.recorder = known->recorder;
        }
        if (known && !was_missing) {
            catalogue::FileClose close;
            close.guid = row.guid;
            close.volume = row.volume;
            close.name = row.name;
            close.events = row.events;
            close.bytes = row.bytes;
            close.event_bytes = row.event_bytes;
            close.first_event = row.first_event;
            close.last_event = row.last_event;
            close.shared = file.closed.content.shared;
            close.sums = row.sums;
            close.file_health = row.file_health;
            close.at = *row.closed;
            const auto ledger = ledger_of_file(file.opened, file.closed, row.recorder);
            WEIR_TRY(catalogue.file_closed(close, {}, {&ledger, 1}));
        } else {
            WEIR_TRY(catalogue.put_file(row, file.closed.content.shared));
            WEIR_TRY(catalogue.add_to_ledger(ledger_of_file(file.opened, file.closed, row.recorder)));
            if (was_missing) {
                WEIR_TRY(catalogue.set_file_health(row.guid, row.file_health));
            }
        }
    }
    return {};
}

namespace {

/// The index of a file that was closed, and handed over or deleted since, is removed. Any other one stays until
/// its file is restored.
void doubt_gone_files(catalogue::Catalogue& catalogue, FileSystem& system, RecoveryResult& result) {
    std::erase_if(result.gone, [&](const GoneFile& gone) {
        const auto row =
            gone.guid ? catalogue.file(*gone.guid) : Result<std::optional<catalogue::FileRow>>(std::nullopt);
        const bool was_closed = row && *row && (*row)->file_state != catalogue::FileState::opened && !is_missing(**row);
        if (was_closed && remove_file(gone.index, system)) result.removed.push_back(gone.index);
        if (!was_closed) result.doubts.push_back(gone.doubt);
        return was_closed;
    });
}

/// Files that were opened and never held an acknowledged event are gone; the catalogue still waits for them. Where no
/// journal can prove that they held none, or their index names some, they stay in the catalogue as QUARANTINED, for an
/// operator to look for them.
Result<> remove_vanished(const std::filesystem::path& directory, bool journal_knows, catalogue::Catalogue& catalogue,
                         const Clock& clock, RecoveryResult& result) {
    const auto rows =
        WEIR_TRY(catalogue.files({.volume = directory.native(), .file_state = catalogue::FileState::opened}));
    for (const auto& row : rows) {
        std::error_code error;
        const auto path = std::filesystem::path(row.volume) / row.name;
        auto closed = path;
        closed.replace_extension(".data");
        if (std::filesystem::exists(path, error) || error || std::filesystem::exists(closed, error) || error) continue;
        const bool is_gone =
            std::ranges::any_of(result.gone, [&](const GoneFile& gone) { return gone.guid == row.guid; });
        if (is_gone || !journal_knows) {
            auto missing = row;
            close_as_missing(missing, clock.wall());
            WEIR_TRY(catalogue.put_file(missing));
            if (is_gone) continue;  // reported already
            result.doubts.push_back({Errc::corrupt, 0,
                                     fmt::format("{} is gone, and no whole journal proves that it held no acknowledged "
                                                 "event; it is QUARANTINED without events; restore it if it is found, "
                                                 "then run weir recover",
                                                 path.native())});
        } else {
            WEIR_TRY(catalogue.remove_opened_file(row.guid));
        }
    }
    return {};
}

/// Files that have their final name while the catalogue still waits for them, and that no journal names: they held no
/// event, or their journal is gone since. Their index has their content.
Result<> find_closed(const std::filesystem::path& directory, catalogue::Catalogue& catalogue, RecoveryResult& result) {
    const auto rows =
        WEIR_TRY(catalogue.files({.volume = directory.native(), .file_state = catalogue::FileState::opened}));
    for (const auto& row : rows) {
        if (std::ranges::any_of(result.files, [&](const auto& file) { return file.opened.guid == row.guid; })) continue;
        auto data = directory / row.name;
        data.replace_extension(".data");
        std::error_code error;
        if (!std::filesystem::exists(data, error)) continue;
        const auto index = datafile::StoredIndex::read(datafile::index_path_of(data));
        if (!index) {
            result.failed.push_back(index.error());
        } else if (index->closed.guid == row.guid) {
            result.files.push_back({data, index->opened, index->closed, 0, false, true});
        }
    }
    return {};
}

/// What else of a run is in files of its recorder: closed ones, and open ones as far as the journals name them.
class StoredOfRuns {
public:
    StoredOfRuns(const std::filesystem::path& directory, const std::string& recorder, catalogue::Catalogue& catalogue)
        : directory_(directory), recorder_(recorder), catalogue_(catalogue) {}

    bool contains(const datafile::SessionDeclared& session, const datafile::StoredCopy& copy) {
        const auto [at, is_new] = runs_.try_emplace(session.run);
        auto& holdings = at->second;
        if (is_new) read(session.run, holdings);
        if (holdings.events && holdings.events->durable.contains(copy.event)) return true;
        const wire::SessionKey key{session.sender, session.incarnation, session.connection, session.run};
        if (const auto known = holdings.durable.find(key);
            known != holdings.durable.end() && known->second.contains(copy.sequence))
            return true;
        const auto some = holdings.partial.find({key, copy.sequence});
        return some != holdings.partial.end() && copy.copy < 64 && ((some->second >> copy.copy) & 1) != 0;
    }

private:
    /// What cannot be read proves nothing: then an event is kept rather than cut.
    void read(RunNumber run, RunHoldings& holdings) {
        const auto marks = catalogue_.marks(run);
        const auto kept = [&](const catalogue::SessionMark& mark) { return is_mark_of_events(mark); };
        if (marks && std::ranges::any_of(*marks, kept)) holdings.events.emplace();
        std::set<std::filesystem::path> directories{directory_};
        if (const auto rows = catalogue_.files({.run = run, .recorder = recorder_})) {
            for (const auto& row : *rows) directories.insert(row.volume);
        }
        std::error_code error;
        for (const auto& directory : directories) {
            if (const auto indexes = files_ending(directory, ".index")) {
                for (const auto& path : *indexes) {
                    const auto name = event::parse_raw_file_name(path.filename().native());
                    auto data = path;
                    if (!name || name->name.run != run ||
                        !std::filesystem::exists(data.replace_extension(".data"), error))
                        continue;
                    if (const auto index = datafile::StoredIndex::read(path)) holdings.add(*index);
                }
            }
            const auto journals = datafile::JournalWriter::find(directory);
            const auto content = journals ? datafile::read_journals(*journals)
                                          : Result<datafile::JournalContent>(std::unexpected(journals.error()));
            if (!content) continue;
            for (const auto& [guid, copies] : content->copies) {
                const auto opened = content->opened.find(guid);
                if (opened == content->opened.end() || opened->second.run != run) continue;
                // A closed one was counted already.
                if (!std::filesystem::exists(directory / (opened->second.name + ".writing"), error)) continue;
                datafile::StoredIndex index;
                index.opened = opened->second;
                for (const auto& declared : content->sessions) index.sessions.emplace(declared.number, declared);
                index.copies = copies;
                holdings.add(index);
            }
        }
    }

    const std::filesystem::path& directory_;
    const std::string& recorder_;
    catalogue::Catalogue& catalogue_;
    std::map<RunNumber, RunHoldings> runs_;
};

}  // namespace

Result<RecoveryResult> recover_and_record(const std::filesystem::path& given, const std::string& recorder,
                                          catalogue::Catalogue& catalogue, const Clock& clock, FileSystem& system,
                                          JournalCounts counts) {
    const auto directory = WEIR_TRY(one_spelling(given));
    const auto open =
        WEIR_TRY(catalogue.files({.volume = directory.native(), .file_state = catalogue::FileState::opened}));
    DurableSizes durable_sizes;  // of files that stayed open: an open row has no size before that
    for (const auto& row : open) {
        if (row.file_health == catalogue::FileHealth::quarantined || row.bytes > 0) durable_sizes[row.guid] = row.bytes;
    }
    StoredOfRuns stored(directory, recorder, catalogue);
    auto result = recover_directory(
        directory, clock, durable_sizes,
        [&](const datafile::SessionDeclared& session, const datafile::StoredCopy& copy) {
            return stored.contains(session, copy);
        },
        system);
    if (!result) return result;
    for (const auto& opened : result->vanished) {
        const auto row = WEIR_TRY(catalogue.file(opened.guid));
        if (row && row->file_state != catalogue::FileState::opened) continue;
        result->failed.push_back({Errc::corrupt, 0,
                                  fmt::format("{}.writing held acknowledged events and is gone from {}; put it "
                                              "back, or take its journal away",
                                              opened.name, directory.native())});
    }
    doubt_gone_files(catalogue, system, *result);
    WEIR_TRY(find_closed(directory, catalogue, *result));
    // What was recovered is entered even when something else failed: the next time it looks like closed by its
    // recorder.
    WEIR_TRY(record_recovery(*result, recorder, catalogue, clock));
    if (counts == JournalCounts::enter) {
        WEIR_TRY(enter_rejected(result->rejected, catalogue));
    }
    if (!result->failed.empty()) return result;
    const auto journals = WEIR_TRY(datafile::JournalWriter::find(directory));
    const bool journal_knows = !journals.empty() && !result->journals_damaged;
    WEIR_TRY(remove_vanished(directory, journal_knows, catalogue, clock, *result));
    WEIR_TRY(result->journals_damaged ? set_journals_aside(directory, system) : remove_journals(directory, system));
    std::error_code error;
    std::filesystem::remove(directory / "weir.reserve", error);  // of the recorder that died
    return result;
}

}  // namespace weir::recovery
