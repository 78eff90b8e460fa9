// SPDX-License-Identifier: Apache-2.0
#include "files/verify_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <tuple>

#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/event/raw_file_name.hpp"
#include "weir/recovery/recovery.hpp"

namespace weir::app {
namespace {

namespace fs = std::filesystem;

fs::path place_of(const fs::path& path) {
    std::error_code error;
    auto found = fs::weakly_canonical(path, error);
    return error ? fs::absolute(path, error) : found;
}

bool is_there(const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error);
}

/// The catalogue in a directory, if there is one.
Result<std::unique_ptr<catalogue::Catalogue>> catalogue_in(const fs::path& directory) {
    const auto path = catalogue::catalogue_path(directory);
    if (!is_there(path)) return nullptr;
    return catalogue::open_sqlite_catalogue(path, {.create = false});
}

}  // namespace

Result<> VerifyPlan::add(const fs::path& path) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found)
        return fail_errno(ENOENT, fmt::format("{} cannot be verified", path.native()));
    return fs::is_directory(status) ? add_directory(path) : add_file(path);
}

/// Of a shared catalogue, what lies in this directory: the rest is on other machines.
Result<> VerifyPlan::add_shared_directory(const fs::path& directory) {
    const auto rows = WEIR_TRY(shared_->files({.run = run_, .volume = place_of(directory).native()}));
    for (const auto& row : rows) add_row(directory, row, {});
    const auto before = files_.size();
    WEIR_TRY(add_unknown_files(directory));
    if (files_.size() > before)
        notes_.push_back(
            fmt::format("{}: {} of the files are not in the catalogue", directory.native(), files_.size() - before));
    return {};
}

Result<> VerifyPlan::add_directory(const fs::path& directory) {
    if (shared_ != nullptr) return add_shared_directory(directory);
    const auto catalogue = WEIR_TRY(catalogue_in(directory));
    if (catalogue) {
        WEIR_TRY(add_catalogue(directory, *catalogue));
    }
    const auto before = files_.size();
    const auto damages_before = damages_.size();
    WEIR_TRY(add_unknown_files(directory));
    if (!catalogue && files_.size() == before && damages_.size() == damages_before) {
        const auto below = WEIR_TRY(add_recorders_below(directory));
        if (!below)
            empty_.push_back(
                fmt::format("{} has neither a catalogue nor .data files{}; name the directory of a recorder",
                            directory.native(), run_ ? fmt::format(" of run {}", number(*run_)) : ""));
        return {};
    }
    if (catalogue && files_.size() > before)
        notes_.push_back(
            fmt::format("{}: {} of the files are not in the catalogue", directory.native(), files_.size() - before));
    return {};
}

/// Of the directory of a run with several recorders: each has one below it. Whether there are any.
Result<bool> VerifyPlan::add_recorders_below(const fs::path& directory) {
    std::error_code error;
    std::vector<fs::path> found;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        if (is_there(catalogue::catalogue_path(it->path()))) found.push_back(it->path());
    }
    if (error) return fail_errno(error.value(), fmt::format("cannot read directory {}", directory.native()));
    std::ranges::sort(found);
    for (const auto& place : found) {
        WEIR_TRY(add_directory(place));
    }
    return !found.empty();
}

Result<> VerifyPlan::add_file(const fs::path& path) {
    const auto directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
    const auto beside = WEIR_TRY(catalogue_in(directory));
    auto* const catalogue = shared_ != nullptr ? shared_ : beside.get();
    std::optional<catalogue::FileRow> row;
    if (catalogue != nullptr) {
        // The name may have been changed, the GUID in the file's head was not.
        const auto reader = datafile::RawFileReader::open(path);
        const auto text = reader ? reader->head().metadata_value("GUID") : std::nullopt;
        if (const auto guid = text ? parse_guid(*text) : Result<Guid>(std::unexpected(Error{})); guid) {
            const auto found = WEIR_TRY(catalogue->file(*guid));
            if (found && found->file_state == catalogue::FileState::closed) row = *found;
        }
    }
    add_once(path, std::move(row), shared_ != nullptr ? fs::path() : catalogue::catalogue_path(directory));
    return {};
}

Result<> VerifyPlan::add_catalogue(const fs::path& directory, catalogue::Catalogue& catalogue) {
    const auto rows = WEIR_TRY(catalogue.files({.run = run_}));
    for (const auto& row : rows) add_row(directory, row, catalogue::catalogue_path(directory));
    return check_ledgers(catalogue::catalogue_path(directory), catalogue);
}

void VerifyPlan::add_row(const fs::path& directory, const catalogue::FileRow& row, const fs::path& catalogue) {
    // A directory that was moved has its files in it, whatever place the catalogue has for it.
    const auto here = directory / row.name;
    const auto path = is_there(here) ? here : fs::path(row.volume) / row.name;
    if (row.file_state == catalogue::FileState::deleted) {
        ++not_verified_.deleted;
    } else if (row.file_state == catalogue::FileState::opened) {
        // It may be closed at this very moment: then it has its other name.
        auto closed = path;
        closed.replace_extension(".data");
        known_.insert(place_of(path));
        if (is_there(path) || is_there(closed)) {
            ++not_verified_.open;
        } else if (known_.insert(place_of(closed)).second) {
            ++files_missing_;
            damages_.push_back({path, std::nullopt, 0,
                                "the file is not there; the catalogue has it as OPENED, and what was "
                                "acknowledged in it is gone with it; restore it, then run weir recover"});
        }
    } else if (is_there(path)) {
        add_once(path, row, catalogue);
    } else if (known_.insert(place_of(path)).second) {
        ++files_missing_;
        damages_.push_back({path, std::nullopt, 0,
                            fmt::format("the file is not there; the catalogue has it as {} with {} events",
                                        name(row.file_state), row.events)});
    }
}

Result<> VerifyPlan::check_ledgers(const fs::path& path, catalogue::Catalogue& catalogue) {
    const auto runs = WEIR_TRY(catalogue.runs(run_));
    for (const auto& run : runs) {
        if (run.state != catalogue::OpenState::closed) continue;
        std::map<std::string, std::uint64_t> held;  // events in the files of a stream
        const auto rows = WEIR_TRY(catalogue.files({.run = run.run, .recorder = run.recorder}));
        for (const auto& row : rows) held[row.stream_type + "_" + row.stream_name] += row.events;
        const auto ledgers = WEIR_TRY(catalogue.ledgers(run.run));
        for (const auto& ledger : ledgers) {
            if (ledger.recorder != run.recorder) continue;
            const auto stream = ledger.stream_type + "_" + ledger.stream_name;
            const auto where = fmt::format("run {}, stream {}", number(run.run), stream);
            std::uint64_t rejected = 0;
            for (const auto& [reason, copies] : ledger.rejected) rejected += copies;
            ledgers_.push_back({ledger, held[stream]});
            if (ledger.received != ledger.stored + rejected)
                damages_.push_back({path, std::nullopt, 0,
                                    fmt::format("{}: {} copies were received, but {} stored and {} rejected", where,
                                                ledger.received, ledger.stored, rejected)});
            if (held[stream] < ledger.stored)
                damages_.push_back(
                    {path, std::nullopt, 0,
                     fmt::format("{}: {} copies were stored, its files hold {}", where, ledger.stored, held[stream])});
            const auto too_many =
                fmt::format("{}: its files hold {} events, the ledger counts {}", where, held[stream], ledger.stored);
            if (held[stream] > ledger.stored && run.mode == "rebuilt") notes_.push_back(too_many);
            else if (held[stream] > ledger.stored) damages_.push_back({path, std::nullopt, 0, too_many});
        }
    }
    return {};
}

Result<> VerifyPlan::add_unknown_files(const fs::path& directory) {
    std::error_code error;
    std::vector<fs::path> found;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        const auto& path = it->path();
        if (!of_this_run(path) || known_.contains(place_of(path))) continue;
        if (path.extension() == ".data") found.push_back(path);
        if (path.extension() == ".writing" && path.stem().extension() != ".index") ++not_verified_.open;
        if (path.extension().native().starts_with(".foreign-"))
            notes_.push_back(fmt::format(
                "{} is not of this recording: the recorder has found it under the name of a file of its own; find "
                "out its origin",
                path.native()));
        if (path.extension().native().starts_with(".cut-"))
            damages_.push_back({path, std::nullopt, 0,
                                "recovery has set this aside: it may hold acknowledged events; look at it, then "
                                "remove it"});
    }
    if (error) return fail_errno(error.value(), fmt::format("cannot read directory {}", directory.native()));
    std::ranges::sort(found);
    for (const auto& path : found) add_once(path, std::nullopt);
    return {};
}

void VerifyPlan::add_once(const fs::path& path, std::optional<catalogue::FileRow> row, const fs::path& catalogue) {
    if (!known_.insert(place_of(path)).second) return;
    if (row && row->file_health == catalogue::FileHealth::quarantined)
        quarantined_.push_back({path, row->guid, catalogue});
    std::error_code error;
    if (const auto size = fs::file_size(path, error); !error) size_ += Bytes{size};
    files_.push_back({path, std::move(row)});
}

bool VerifyPlan::of_this_run(const fs::path& path) const {
    if (!run_) return true;
    const auto parsed = event::parse_raw_file_name(path.filename().native());
    return parsed && parsed->name.run == *run_;
}

}  // namespace weir::app
