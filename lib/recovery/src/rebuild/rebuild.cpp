// SPDX-License-Identifier: Apache-2.0
#include "weir/recovery/rebuild.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "found_files.hpp"
#include "rebuild/rebuild_places.hpp"
#include "weir/base/file.hpp"
#include "weir/base/leaving_file.hpp"
#include "weir/catalogue/file_sums.hpp"
#include "weir/catalogue/hand_off_lock.hpp"
#include "weir/catalogue/run_record_file.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/event/raw_file_name.hpp"
#include "weir/recovery/run_holdings.hpp"
#include "weir/recovery/verification.hpp"

namespace weir::recovery {
namespace {

namespace fs = std::filesystem;

WallTime time_of(std::uint64_t nanoseconds) {
    return WallTime{std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds{nanoseconds})};
}

WallTime changed_at(const fs::path& path, const Clock& clock) {
    std::error_code error;
    const auto time = fs::last_write_time(path, error);
    return error ? clock.wall()
                 : std::chrono::time_point_cast<WallTime::duration>(std::chrono::file_clock::to_sys(time));
}

catalogue::FileRow row_of(const FoundFile& file) {
    catalogue::FileRow row;
    row.volume = file.path.parent_path().native();
    row.name = file.path.filename().native();
    row.run = file.name.run;
    row.recorder = file.name.application;
    row.stream_type = file.name.stream_type;
    row.stream_name = file.name.stream_name;
    row.lumi_block = file.name.lumi_block;
    row.sequence = file.name.sequence;
    row.file_state = catalogue::FileState::closed;
    return row;
}

catalogue::FileRow row_of(const FoundFile& file, const datafile::StoredIndex& index, const Clock& clock) {
    auto row = row_of(file);
    row.guid = index.closed.guid;
    row.format = fmt::format("raw-{}", index.opened.file_version);
    row.events = index.closed.events;
    row.bytes = index.closed.size;
    row.event_bytes = index.closed.bytes;
    if (index.opened.has_adler32) row.sums.push_back({"adler32", fmt::format("{:08x}", index.closed.adler32)});
    row.sums.push_back({"crc32c", fmt::format("{:08x}", index.closed.crc32c)});
    row.closed = changed_at(file.path, clock);
    row.opened = index.copies.empty() ? *row.closed : time_of(index.copies.front().received_ns);
    row.first_event = index.closed.content.first_event;
    row.last_event = index.closed.content.last_event;
    if (index.closed.cut) row.file_health = catalogue::FileHealth::truncated;
    return row;
}

/// Of another recorder, or its index was lost: read once, from the first byte to the last.
Result<catalogue::FileRow> read_row(const FoundFile& file, const Clock& clock) {
    auto reader = WEIR_TRY(datafile::RawFileReader::open(file.path));
    auto row = row_of(file);
    const auto guid = reader.head().metadata_value("GUID");
    const auto parsed = guid ? parse_guid(*guid) : fail(Errc::corrupt, "");
    if (!parsed) {
        return fail(Errc::unsupported,
                    fmt::format("{} has neither an index nor a GUID in its head; it stays out of the catalogue",
                                file.path.native()));
    }
    row.guid = *parsed;
    row.format = fmt::format("raw-{}", reader.head().version);
    std::vector<std::byte> event;
    while (true) {
        const auto block = WEIR_TRY(reader.next(event));
        if (!block) break;
        ++row.events;
        row.event_bytes += event.size();
    }
    row.bytes = reader.size();
    const auto proof =
        verify_file(file.path, nullptr, {.depth = event::Depth::none, .rules = {}, .threads = 1, .progress = {}});
    if (proof.adler32) row.sums.push_back({"adler32", fmt::format("{:08x}", *proof.adler32)});
    if (!reader.end()) row.file_health = catalogue::FileHealth::truncated;
    row.opened = *(row.closed = changed_at(file.path, clock));
    return row;
}

bool same_content(const catalogue::FileRow& a, const catalogue::FileRow& b) {
    const auto same_sums = std::ranges::all_of(a.sums, [&](const catalogue::FileSum& sum) {
        return std::ranges::none_of(b.sums, [&](const catalogue::FileSum& other) {
            return other.algorithm == sum.algorithm && !catalogue::same_sum(other.value, sum.value);
        });
    });
    return a.events == b.events && a.bytes == b.bytes && same_sums;
}

/// Brings what the catalogue has of it to what it is.
Result<> enter(catalogue::FileRow row, const catalogue::SharedEvents& shared,
               std::span<const catalogue::FileRow> not_sane, catalogue::Catalogue& catalogue) {
    const auto known = WEIR_TRY(catalogue.file(row.guid));
    if (known && known->file_state == catalogue::FileState::deleted) {
        return fail(Errc::corrupt,
                    fmt::format("{}/{} is there, but was deleted according to the catalogue; remove it or "
                                "move it away",
                                row.volume, row.name));
    }
    if (known && known->file_state == catalogue::FileState::closed) {
        if (!same_content(row, *known)) {
            return fail(Errc::corrupt,
                        fmt::format("{}/{} is not what the catalogue has: {} events and {} bytes instead of {} "
                                    "and {}; weir verify names the damage",
                                    row.volume, row.name, row.events, row.bytes, known->events, known->bytes));
        }
        if (known->volume == row.volume && known->name == row.name) return {};
        return catalogue.file_moved(row.guid, row.volume, row.name);
    }
    if (known) row.opened = known->opened;
    const auto was = std::ranges::find(not_sane, row.guid, &catalogue::FileRow::guid);
    if (was != not_sane.end() && same_content(row, *was)) row.file_health = was->file_health;
    return catalogue.put_file(row, shared);
}

/// The content of all files of one run.
struct RunContent {
    RunHoldings holdings;
    std::optional<WallTime> begun, ended;
};

Result<std::uint64_t> write_marks(const RunAtRecorder& run, RunHoldings& holdings, catalogue::Catalogue& catalogue) {
    WEIR_TRY(holdings.add_marks(run.first, run.second, catalogue));
    const auto marks = holdings.marks(run.first, run.second);
    WEIR_TRY(catalogue.set_marks(marks));
    return marks.size();
}

/// As many as its files hold, the deleted ones included; what was rejected stays, and so does what was lost.
Result<> write_ledgers(const RunAtRecorder& run, catalogue::Catalogue& catalogue) {
    std::map<std::pair<std::string, std::string>, catalogue::LedgerRow> ledgers;
    const auto known = WEIR_TRY(catalogue.ledgers(run.first));
    for (const auto& row : known) {
        if (row.recorder == run.second) ledgers[{row.stream_type, row.stream_name}] = row;
    }
    const auto rejected = [](const catalogue::LedgerRow& row) {
        std::uint64_t sum = 0;
        for (const auto& [reason, copies] : row.rejected) sum += copies;
        return sum;
    };
    for (auto& [stream, row] : ledgers) {
        row.received -= std::min(row.received, row.stored + rejected(row));  // what has no fate
        row.stored = 0;
    }
    const auto files = WEIR_TRY(catalogue.files({.run = run.first, .recorder = run.second}));
    for (const auto& file : files) {
        auto& row = ledgers[{file.stream_type, file.stream_name}];
        row.run = file.run;
        row.recorder = file.recorder;
        row.stream_type = file.stream_type;
        row.stream_name = file.stream_name;
        row.stored += file.events;
    }
    for (auto& [stream, row] : ledgers) {
        row.received += row.stored + rejected(row);
        WEIR_TRY(catalogue.set_ledger(row));
    }
    return {};
}

/// Runs that the catalogue does not know, OPENED for now. Which they are.
Result<std::set<RunAtRecorder>> enter_runs(const std::set<RunAtRecorder>& runs, catalogue::Catalogue& catalogue,
                                           const Clock& clock) {
    const auto known = WEIR_TRY(catalogue.runs());
    auto added = runs;
    for (const auto& row : known) added.erase({row.run, row.recorder});
    for (const auto& [run, recorder] : added) {
        catalogue::RunRow row;
        row.run = run;
        row.recorder = recorder;
        row.mode = "rebuilt";
        row.started = clock.wall();
        WEIR_TRY(catalogue.put_run(row));
    }
    return added;
}

Result<> end_runs(const std::set<RunAtRecorder>& added, const std::set<RunAtRecorder>& interrupted,
                  const std::map<RunAtRecorder, RunContent>& contents, catalogue::Catalogue& catalogue,
                  const Clock& clock) {
    for (const auto& run : added) {
        const auto content = contents.find(run);
        catalogue::RunRow row;
        row.run = run.first;
        row.recorder = run.second;
        row.mode = "rebuilt";
        row.started = content != contents.end() && content->second.begun ? *content->second.begun : clock.wall();
        WEIR_TRY(catalogue.put_run(row));
        if (interrupted.contains(run)) continue;
        const auto at = content != contents.end() && content->second.ended ? *content->second.ended : clock.wall();
        WEIR_TRY(catalogue.close_run(run.first, run.second, at));
    }
    return {};
}

Result<> enter_run_record(const catalogue::RunRecord& record, const std::map<std::string, std::string>& known,
                          catalogue::Catalogue& catalogue) {
    for (const auto& [name, value] : record.parameters) {
        if (known.contains(name)) continue;
        WEIR_TRY(catalogue.set_run_parameter(record.run, name, value));
    }
    return catalogue::keep_run_record(catalogue, record);
}

/// With what runs were taken, and their parameters, where the catalogue has no record of them.
Result<> enter_run_records(std::span<const fs::path> places, catalogue::Catalogue& catalogue, RebuildResult& result) {
    for (const auto& place : places) {
        const auto files = WEIR_TRY(catalogue::run_record_files(place));
        for (const auto& file : files) {
            const auto record = catalogue::read_run_record(file);
            if (!record) {
                result.failed.push_back(record.error());
                continue;
            }
            const auto known = WEIR_TRY(catalogue.run_parameters(record->run));
            if (known.contains(catalogue::run_record_parameter)) continue;
            // One that the catalogue does not take costs the others nothing.
            if (const auto entered = enter_run_record(*record, known, catalogue)) ++result.run_records;
            else result.failed.push_back(entered.error());
        }
    }
    return {};
}

}  // namespace

Result<std::set<Guid>> known_files(const std::set<RunAtRecorder>& runs, catalogue::Catalogue& catalogue) {
    std::set<Guid> known;
    for (const auto& [run, recorder] : runs) {
        const auto rows =
            WEIR_TRY(catalogue.files({.run = run, .recorder = recorder, .file_state = catalogue::FileState::closed}));
        for (const auto& row : rows) known.insert(row.guid);
    }
    return known;
}

Result<RebuildResult> rebuild_places(std::span<const fs::path> places, FoundFiles before, const std::set<Guid>& known,
                                     const CatalogueRemains& remains, catalogue::Catalogue& catalogue,
                                     const Clock& clock) {
    RebuildResult result;
    auto added = WEIR_TRY(enter_runs(before.runs, catalogue, clock));
    for (const auto& place : places) {
        auto recovered = WEIR_TRY(recover_and_record(place, "weir", catalogue, clock));
        std::ranges::move(recovered.files, std::back_inserter(result.recovery.files));
        std::ranges::move(recovered.removed, std::back_inserter(result.recovery.removed));
        std::ranges::move(recovered.failed, std::back_inserter(result.recovery.failed));
        std::ranges::move(recovered.doubts, std::back_inserter(result.recovery.doubts));
    }
    auto found = WEIR_TRY(find_files(places));
    std::ranges::sort(found.closed, {}, &FoundFile::path);
    std::map<RunAtRecorder, RunContent> contents;
    for (const auto& file : found.closed) {
        const auto index = datafile::StoredIndex::read(datafile::index_path_of(file.path));
        auto row = index ? Result<catalogue::FileRow>(row_of(file, *index, clock)) : read_row(file, clock);
        std::error_code error;
        if (!row && !fs::exists(file.path, error)) continue;  // handed over and deleted meanwhile
        if (!row) {
            result.failed.push_back(row.error());
            continue;
        }
        ++result.files;
        auto& content = contents[{file.name.run, file.name.application}];
        if (index) content.holdings.add(*index);
        content.begun = content.begun ? std::min(*content.begun, row->opened) : row->opened;
        content.ended = content.ended ? std::max(*content.ended, *row->closed) : *row->closed;
        const auto guid = row->guid;
        const auto entered = enter(std::move(*row), index ? index->closed.content.shared : catalogue::SharedEvents{},
                                   remains.not_sane, catalogue);
        if (!entered) result.failed.push_back(entered.error());
        else result.files_added += known.contains(guid) ? 0U : 1U;
    }
    for (auto& [run, content] : contents) {
        const auto marks = WEIR_TRY(write_marks(run, content.holdings, catalogue));
        result.sessions += marks;
        WEIR_TRY(write_ledgers(run, catalogue));
    }
    result.runs_added = added.size();
    WEIR_TRY(end_runs(added, before.interrupted, contents, catalogue, clock));
    WEIR_TRY(enter_run_records(places, catalogue, result));
    for (const auto& state : remains.reader_states) {
        WEIR_TRY(catalogue.set_reader_state(state));
    }
    return result;
}

Result<RebuildResult> rebuild_catalogue(std::span<const fs::path> directories, catalogue::Catalogue& catalogue,
                                        const Clock& clock, const CatalogueRemains& remains) {
    const auto places = WEIR_TRY(one_spelling(directories));
    for (const auto& place : places) static_cast<void>(restore_leaving_files(place));  // recovery reports what stays
    auto found = WEIR_TRY(find_files(places));
    const auto known = WEIR_TRY(known_files(found.runs, catalogue));
    return rebuild_places(places, std::move(found), known, remains, catalogue, clock);
}

namespace {

/// As far as a damaged catalogue can still be read. It is read in a copy: reading might change it.
CatalogueRemains remains_of(const fs::path& damaged) {
    const std::array<std::string_view, 3> endings{"", "-wal", "-shm"};
    const fs::path copy = damaged.native() + ".reading";
    std::error_code error;
    for (const auto ending : endings) {
        const fs::path part = damaged.native() + std::string(ending);
        if (fs::exists(part, error))
            fs::copy_file(part, copy.native() + std::string(ending), fs::copy_options::overwrite_existing, error);
    }
    CatalogueRemains remains;
    if (const auto old = catalogue::open_sqlite_catalogue(copy, {.create = false})) {
        for (const auto health : {catalogue::FileHealth::truncated, catalogue::FileHealth::quarantined}) {
            auto rows = (*old)->files({.file_state = catalogue::FileState::closed, .file_health = health});
            if (rows) std::ranges::move(*rows, std::back_inserter(remains.not_sane));
        }
        if (auto states = (*old)->reader_states()) remains.reader_states = std::move(*states);
    }
    for (const auto ending : endings) fs::remove(copy.native() + std::string(ending), error);
    return remains;
}

}  // namespace

Result<CatalogueToRebuild> open_to_rebuild(const fs::path& path) {
    CatalogueToRebuild opened;
    auto catalogue = catalogue::open_sqlite_catalogue(path);
    if (catalogue) {
        if (const auto sound = (*catalogue)->check(); sound) {
            opened.catalogue = std::move(*catalogue);
            return opened;
        } else if (sound.error().code != Errc::corrupt) {
            return std::unexpected(sound.error());
        }
        catalogue->reset();
    } else if (catalogue.error().code != Errc::corrupt) {
        return std::unexpected(catalogue.error());
    }
    auto lock = WEIR_TRY(catalogue::HandOffLock::take(path));  // who has it open would go on with what is set aside
    opened.lock.emplace(std::move(lock));
    std::error_code error;
    for (int n = 1; opened.set_aside.empty() || fs::exists(opened.set_aside, error); ++n)
        opened.set_aside = fmt::format("{}.damaged-{}", path.native(), n);
    for (const auto* ending : {"-wal", "-shm", ""}) {
        const fs::path part = path.native() + ending;
        if (!fs::exists(part, error)) continue;
        WEIR_TRY(rename_new(part, opened.set_aside.native() + ending));
    }
    opened.remains = remains_of(opened.set_aside);
    opened.catalogue = WEIR_TRY(catalogue::open_sqlite_catalogue(path));
    return opened;
}

Result<bool> catalogue_misses_runs(std::span<const fs::path> directories, const std::string& recorder,
                                   catalogue::Catalogue& catalogue) {
    auto found = WEIR_TRY(find_files(directories));
    std::erase_if(found.runs, [&](const auto& run) { return run.second != recorder; });
    if (found.runs.empty()) return false;
    const auto rows = WEIR_TRY(catalogue.runs());
    for (const auto& row : rows) found.runs.erase({row.run, row.recorder});
    return !found.runs.empty();
}

}  // namespace weir::recovery
