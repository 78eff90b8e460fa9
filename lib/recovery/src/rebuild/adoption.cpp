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
    "name all directories of the dead recorder at once, or leave it its own catalogue: weir recover with its "
    "directories";

Result<std::optional<catalogue::RunRow>> row_of(RunNumber run, const std::string& recorder,
                                                catalogue::Catalogue& catalogue) {
    const auto rows = catalogue.runs(run);
    if (!rows) return std::unexpected(rows.error());
    const auto row = std::ranges::find(*rows, recorder, &catalogue::RunRow::recorder);
    return row == rows->end() ? std::nullopt : std::optional(*row);
}

/// A run of the successor's own under the same name and number: entering the dead recorder's would mix the two.
Result<> refuse_mixing(const std::set<RunAtRecorder>& runs, std::span<const fs::path> places,
                       catalogue::Catalogue* from, catalogue::Catalogue& to) {
    for (const auto& [run, recorder] : runs) {
        const auto row = row_of(run, recorder, to);
        if (!row) return std::unexpected(row.error());
        const auto old = from != nullptr && *row ? row_of(run, recorder, *from)
                                                 : Result<std::optional<catalogue::RunRow>>(std::nullopt);
        if (!old) return std::unexpected(old.error());
        const bool others = *row && (*old ? (*old)->started != (*row)->started
                                          : (*row)->state == catalogue::OpenState::opened && (*row)->mode != "rebuilt");
        if (others)
            return fail(Errc::refused,
                        fmt::format("run {} of recorder {} is in the catalogue already and is another one; {}",
                                    number(run), recorder, what_to_do));
        const auto files = to.files({.run = run, .recorder = recorder});
        if (!files) return std::unexpected(files.error());
        for (const auto& file : *files) {
            if (file.file_state == catalogue::FileState::deleted ||
                std::ranges::find(places, fs::path(file.volume)) != places.end())
                continue;
            if (from != nullptr) {  // adopted already, by a call that was cut short
                const auto same = from->file(file.guid);
                if (!same) return std::unexpected(same.error());
                if (*same) continue;
            }
            return fail(Errc::refused, fmt::format("run {} of recorder {} has files in {}, which is not adopted with "
                                                   "the others, so it may be another run; {}",
                                                   number(run), recorder, file.volume, what_to_do));
        }
    }
    return {};
}

/// What belongs to a run as a whole; what the successor has is not replaced.
Result<> inherit_run(RunNumber run, catalogue::Catalogue& from, catalogue::Catalogue& to) {
    const auto parameters = from.run_parameters(run);
    if (!parameters) return std::unexpected(parameters.error());
    const auto own = to.run_parameters(run);
    if (!own) return std::unexpected(own.error());
    for (const auto& [name, value] : *parameters) {
        if (own->contains(name)) continue;
        if (auto set = to.set_run_parameter(run, name, value); !set) return set;
    }
    return {};
}

/// What the files cannot say, from the catalogue of the recorder that does not come back.
Result<> inherit(catalogue::Catalogue& from, catalogue::Catalogue& to, const Clock& clock) {
    const auto runs = from.runs();
    if (!runs) return std::unexpected(runs.error());
    for (auto run : *runs) {
        run.state = catalogue::OpenState::closed;
        if (!run.ended) run.ended = clock.wall();
        const auto marks = from.marks(run.run);
        if (!marks) return std::unexpected(marks.error());
        const auto ledgers = from.ledgers(run.run);
        if (!ledgers) return std::unexpected(ledgers.error());
        const auto files = from.files({.run = run.run, .recorder = run.recorder});
        if (!files) return std::unexpected(files.error());
        auto open = run;
        open.state = catalogue::OpenState::opened;
        open.ended.reset();
        if (auto put = to.put_run(open); !put) return put;
        if (auto set = to.set_marks(*marks); !set) return set;
        for (const auto& ledger : *ledgers) {
            if (auto set = to.set_ledger(ledger); !set) return set;
        }
        for (const auto& file : *files) {
            if (file.file_state == catalogue::FileState::opened) continue;  // recovered, and entered from the file
            const auto shared = from.shared_events(file.guid);
            if (!shared) return std::unexpected(shared.error());
            if (auto put = to.put_file(file, *shared); !put) return put;
            const auto transfers = from.transfers({.guid = file.guid});
            if (!transfers) return std::unexpected(transfers.error());
            for (const auto& transfer : *transfers) {
                if (auto set = to.set_transfer(transfer); !set) return set;
            }
        }
        if (auto inherited = inherit_run(run.run, from, to); !inherited) return inherited;
        if (auto closed = to.close_run(run.run, run.recorder, *run.ended); !closed) return closed;
    }
    const auto states = from.reader_states();
    if (!states) return std::unexpected(states.error());
    for (const auto& state : *states) {
        if (auto set = to.set_reader_state(state); !set) return set;
    }
    return {};
}

}  // namespace

Result<RebuildResult> adopt_volumes(std::span<const fs::path> volumes, catalogue::Catalogue& catalogue,
                                    const Clock& clock) {
    const auto places = one_spelling(volumes);
    if (!places) return std::unexpected(places.error());
    auto found = find_files(*places);
    if (!found) return std::unexpected(found.error());
    const auto known = known_files(found->runs, catalogue);
    if (!known) return std::unexpected(known.error());
    struct Inheritance {
        fs::path path;
        catalogue::HandOffLock lock;
        std::unique_ptr<catalogue::Catalogue> catalogue;
    };
    std::vector<Inheritance> old;
    auto without_catalogue = found->runs;
    for (const auto& volume : *places) {
        std::error_code error;
        const auto path = catalogue::catalogue_path(volume);
        if (!fs::exists(path, error)) continue;
        auto lock = catalogue::HandOffLock::take(catalogue::catalogue_path(volume));
        if (!lock) return std::unexpected(lock.error());
        auto opened = catalogue::open_sqlite_catalogue(path, {.create = false});
        if (!opened) return std::unexpected(opened.error());
        const auto rows = (*opened)->runs();
        if (!rows) return std::unexpected(rows.error());
        std::set<RunAtRecorder> runs;
        for (const auto& row : *rows) runs.emplace(row.run, row.recorder);
        if (auto apart = refuse_mixing(runs, *places, opened->get(), catalogue); !apart)
            return std::unexpected(apart.error());
        for (const auto& run : runs) without_catalogue.erase(run);
        old.push_back({path, std::move(*lock), std::move(*opened)});
    }
    if (auto apart = refuse_mixing(without_catalogue, *places, nullptr, catalogue); !apart)
        return std::unexpected(apart.error());
    for (auto& one : old) {
        if (auto inherited = inherit(*one.catalogue, catalogue, clock); !inherited)
            return std::unexpected(inherited.error());
        one.catalogue.reset();
        std::error_code error;
        for (const auto* ending : {"-wal", "-shm", ""}) {
            const fs::path part = one.path.native() + ending;
            if (!fs::exists(part, error)) continue;
            if (auto renamed = rename_new(part, one.path.native() + ".adopted" + ending); !renamed)
                return std::unexpected(renamed.error());
        }
    }
    found->interrupted.clear();  // their recorder does not come back
    return rebuild_places(*places, std::move(*found), *known, {}, catalogue, clock);
}

}  // namespace weir::recovery
