// SPDX-License-Identifier: Apache-2.0
#include "weir/control/catalogue_keeper.hpp"

#include <algorithm>

#include "weir/catalogue/run_record_file.hpp"

namespace weir::control {
namespace {

void append(std::vector<std::string>& names, const std::vector<std::string>& more) {
    for (const auto& name : more)
        if (names.size() < HandOffAccount::names_max) names.push_back(name);
}

}  // namespace

Result<RunNumber> CatalogueKeeper::next_run() {
    RunNumber free{1};
    for (const auto& recorder : catalogues_) {
        const auto next = WEIR_TRY(recorder.books->next_free_run());
        free = std::max(free, next);
    }
    return numbers_.take(free);
}

Result<HandOffAccount> CatalogueKeeper::hand_off(RunNumber run) {
    HandOffAccount all;
    for (const auto& recorder : catalogues_) {
        if (!recorder.checksum) continue;
        const auto one = WEIR_TRY(recorder.books->files(run, *recorder.checksum));
        all.closed += one.closed;
        all.handed_over += one.handed_over;
        all.left += one.left;
        all.quarantined += one.quarantined;
        all.without_sum += one.without_sum;
        append(all.names, one.names);
        append(all.names_kept, one.names_kept);
    }
    return all;
}

Result<> CatalogueKeeper::keep(RunNumber run, const std::map<std::string, std::string>& parameters) {
    Result<> kept;  // the first error, behind which all other catalogues still come
    for (const auto& recorder : catalogues_) {
        if (auto here = recorder.books->keep(run, parameters); !here && kept) kept = std::move(here);
    }
    if (auto record = keep_record(run, parameters); !record && kept) kept = std::move(record);
    return kept;
}

/// A run that another run control began has its record in the directory, unless that one was older than records are.
Result<> CatalogueKeeper::keep_record(RunNumber run, const std::map<std::string, std::string>& parameters) {
    std::optional<catalogue::RunRecord> of_another;
    if (run != record_.run) {
        const auto path = catalogue::run_record_path(directory_, run);
        std::error_code unknown;
        if (!std::filesystem::exists(path, unknown)) return {};
        of_another = WEIR_TRY(catalogue::read_run_record(path));
    }
    auto& record = of_another ? *of_another : record_;
    for (const auto& [name, value] : parameters) record.parameters[name] = value;
    auto kept = catalogue::write_run_record(directory_, record, Synced::yes);
    for (const auto& recorder : catalogues_) {
        if (auto there = recorder.books->keep(record); !there && kept) kept = std::move(there);
    }
    return kept;
}

Result<> CatalogueKeeper::note(const RunChanges& changes) {
    if (changes.run != record_.run) record_.parameters.clear();
    for (const auto& [name, value] : changes.parameters) record_.parameters[name] = value;
    record_.run = changes.run;
    record_.started = changes.started;
    record_.changes = changes.list;
    record_.changes_left_out = changes.left_out;
    return catalogue::write_run_record(directory_, record_, Synced::no);
}

Result<std::optional<RunLeft>> CatalogueKeeper::left() {
    auto open = WEIR_TRY(open_run_.left());
    if (!open) return std::nullopt;
    RunLeft left{{.run = open->run}, std::move(open->parameters)};
    const auto path = catalogue::run_record_path(directory_, open->run);
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown)) return left;
    auto record = WEIR_TRY(catalogue::read_run_record(path));
    left.changes = {record.run, record.started, std::move(record.parameters), std::move(record.changes),
                    record.changes_left_out};
    return left;
}

}  // namespace weir::control
