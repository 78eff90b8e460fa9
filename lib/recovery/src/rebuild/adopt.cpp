// SPDX-License-Identifier: Apache-2.0
// The volumes of a recorder that does not come back, taken over by another one's catalogue.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "found_files.hpp"
#include "rebuild/rebuild_places.hpp"
#include "weir/base/file.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/hand_off_lock.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/recovery/rebuild.hpp"

namespace weir::recovery {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view what_to_do =
    "name all directories of the dead recorder at once, or let it keep its own catalogue: weir recover with its "
    "directories";

Result<std::optional<catalogue::RunRow>> row_of(RunNumber run, const std::string& recorder,
                                                catalogue::Catalogue& catalogue) {
    const auto rows = WEIR_TRY(catalogue.runs(run));
    const auto row = std::ranges::find(rows, recorder, &catalogue::RunRow::recorder);
    return row == rows.end() ? std::nullopt : std::optional(*row);
}

/// A run of the successor's own under the same name and number: entering the dead recorder's would mix the two.
Result<> refuse_mixing(const std::set<RunAtRecorder>& runs, std::span<const fs::path> places,
                       catalogue::Catalogue* from, catalogue::Catalogue& to) {
    for (const auto& [run, recorder] : runs) {
        const auto row = WEIR_TRY(row_of(run, recorder, to));
        const auto old = WEIR_TRY(from != nullptr && row ? row_of(run, recorder, *from)
                                                         : Result<std::optional<catalogue::RunRow>>(std::nullopt));
        const bool others = row && (old ? old->started != row->started
                                        : row->state == catalogue::OpenState::opened && row->mode != "rebuilt");
        if (others)
            return fail(Errc::refused,
                        fmt::format("run {} of recorder {} is in the catalogue already and is another one; {}",
                                    number(run), recorder, what_to_do));
        const auto files = WEIR_TRY(to.files({.run = run, .recorder = recorder}));
        for (const auto& file : files) {
            if (file.file_state == catalogue::FileState::deleted ||
                std::ranges::find(places, fs::path(file.volume)) != places.end())
                continue;
            if (from != nullptr) {  // adopted already, by a call that was cut short
                const auto same = WEIR_TRY(from->file(file.guid));
                if (same) continue;
            }
            return fail(Errc::refused, fmt::format("run {} of recorder {} has files in {}, which is not adopted with "
                                                   "the others, so it may be another run; {}",
                                                   number(run), recorder, file.volume, what_to_do));
        }
    }
    return {};
}

/// What belongs to a run as a whole; what the successor has is not replaced.
Result<> carry_over_run(RunNumber run, catalogue::Catalogue& from, catalogue::Catalogue& to) {
    const auto parameters = WEIR_TRY(from.run_parameters(run));
    const auto own = WEIR_TRY(to.run_parameters(run));
    for (const auto& [name, value] : parameters) {
        if (own.contains(name)) continue;
        WEIR_TRY(to.set_run_parameter(run, name, value));
    }
    return {};
}

/// What is not in the files, from the catalogue of the recorder that does not come back.
Result<> carry_over(catalogue::Catalogue& from, catalogue::Catalogue& to, const Clock& clock) {
    const auto runs = WEIR_TRY(from.runs());
    for (auto run : runs) {
        run.state = catalogue::OpenState::closed;
        if (!run.ended) run.ended = clock.wall();
        const auto marks = WEIR_TRY(from.marks(run.run));
        const auto ledgers = WEIR_TRY(from.ledgers(run.run));
        const auto files = WEIR_TRY(from.files({.run = run.run, .recorder = run.recorder}));
        auto open = run;
        open.state = catalogue::OpenState::opened;
        open.ended.reset();
        WEIR_TRY(to.put_run(open));
        WEIR_TRY(to.set_marks(marks));
        for (const auto& ledger : ledgers) {
            WEIR_TRY(to.set_ledger(ledger));
        }
        for (const auto& file : files) {
            if (file.file_state == catalogue::FileState::opened) continue;  // recovered, and entered from the file
            const auto shared = WEIR_TRY(from.shared_events(file.guid));
            WEIR_TRY(to.put_file(file, shared));
            const auto transfers = WEIR_TRY(from.transfers({.guid = file.guid}));
            for (const auto& transfer : transfers) {
                WEIR_TRY(to.set_transfer(transfer));
            }
        }
        WEIR_TRY(carry_over_run(run.run, from, to));
        WEIR_TRY(to.close_run(run.run, run.recorder, *run.ended));
    }
    const auto states = WEIR_TRY(from.reader_states());
    for (const auto& state : states) {
        WEIR_TRY(to.set_reader_state(state));
    }
    return {};
}

}  // namespace

Result<RebuildResult> adopt_volumes(std::span<const fs::path> volumes, catalogue::Catalogue& catalogue,
                                    const Clock& clock) {
    const auto places = WEIR_TRY(one_spelling(volumes));
    auto found = WEIR_TRY(find_files(places));
    const auto known = WEIR_TRY(known_files(found.runs, catalogue));
    struct OldCatalogue {
        fs::path path;
        catalogue::HandOffLock lock;
        std::unique_ptr<catalogue::Catalogue> catalogue;
    };
    std::vector<OldCatalogue> old;
    auto without_catalogue = found.runs;
    for (const auto& volume : places) {
        std::error_code error;
        const auto path = catalogue::catalogue_path(volume);
        if (!fs::exists(path, error)) continue;
        auto lock = WEIR_TRY(catalogue::HandOffLock::take(catalogue::catalogue_path(volume)));
        auto opened = WEIR_TRY(catalogue::open_sqlite_catalogue(path, {.create = false}));
        const auto rows = WEIR_TRY(opened->runs());
        std::set<RunAtRecorder> runs;
        for (const auto& row : rows) runs.emplace(row.run, row.recorder);
        WEIR_TRY(refuse_mixing(runs, places, opened.get(), catalogue));
        for (const auto& run : runs) without_catalogue.erase(run);
        old.push_back({path, std::move(lock), std::move(opened)});
    }
    WEIR_TRY(refuse_mixing(without_catalogue, places, nullptr, catalogue));
    for (auto& one : old) {
        WEIR_TRY(carry_over(*one.catalogue, catalogue, clock));
        one.catalogue.reset();
        std::error_code error;
        for (const auto* ending : {"-wal", "-shm", ""}) {
            const fs::path part = one.path.native() + ending;
            if (!fs::exists(part, error)) continue;
            WEIR_TRY(rename_new(part, one.path.native() + ".adopted" + ending));
        }
    }
    found.interrupted.clear();  // their recorder does not come back
    return rebuild_places(places, std::move(found), known, {}, catalogue, clock);
}

}  // namespace weir::recovery
