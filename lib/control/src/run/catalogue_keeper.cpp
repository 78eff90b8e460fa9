// SPDX-License-Identifier: Apache-2.0
#include "weir/control/catalogue_keeper.hpp"

#include <algorithm>
#include <set>

#include "weir/catalogue/run_record_file.hpp"

namespace weir::control {
namespace {

Result<> keep_in(const OpenCatalogue& open, RunNumber run, const std::map<std::string, std::string>& parameters) {
    const auto catalogue = WEIR_TRY(open());
    if (!catalogue) return {};
    for (const auto& [name, value] : parameters) {
        WEIR_TRY(catalogue->set_run_parameter(run, name, value));
    }
    return {};
}

Result<> keep_record_in(const OpenCatalogue& open, const catalogue::RunRecord& record) {
    const auto catalogue = WEIR_TRY(open());
    if (!catalogue) return {};
    return catalogue::keep_run_record(*catalogue, record);
}

}  // namespace

Result<RunNumber> CatalogueKeeper::next_run() {
    RunNumber free{1};
    for (const auto& recorder : catalogues_) {
        const auto catalogue = WEIR_TRY(recorder.open());
        if (!catalogue) continue;
        const auto next = WEIR_TRY(catalogue->next_free_run());
        free = std::max(free, next);
    }
    return numbers_.take(free);
}

Result<HandOffAccount> CatalogueKeeper::hand_off(RunNumber run) {
    HandOffAccount account;
    const auto name_one = [](std::vector<std::string>& names, const std::string& name) {
        if (names.size() < HandOffAccount::names_max) names.push_back(name);
    };
    for (const auto& recorder : catalogues_) {
        if (!recorder.checksum) continue;
        const auto catalogue = WEIR_TRY(recorder.open());
        if (!catalogue) continue;
        const auto files = WEIR_TRY(catalogue->files({.run = run}));
        for (const auto& file : files) {
            if (file.file_state == catalogue::FileState::opened) continue;
            ++account.closed;
            if (file.transfer_state == catalogue::TransferState::transferred) {
                ++account.handed_over;
                continue;
            }
            ++account.left;
            if (file.file_health == catalogue::FileHealth::quarantined) {
                ++account.quarantined;
                name_one(account.names_kept, file.name);
            } else if (std::ranges::find(file.sums, *recorder.checksum, &catalogue::FileSum::algorithm) ==
                       file.sums.end()) {
                ++account.without_sum;
                name_one(account.names_kept, file.name);
            } else {
                name_one(account.names, file.name);
            }
        }
    }
    return account;
}

Result<> CatalogueKeeper::keep(RunNumber run, const std::map<std::string, std::string>& parameters) {
    Result<> kept;  // the first error, behind which all other catalogues still come
    for (const auto& recorder : catalogues_) {
        if (auto here = keep_in(recorder.open, run, parameters); !here && kept) kept = std::move(here);
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
    std::set<std::filesystem::path> directories{directory_};
    for (const auto& recorder : catalogues_) {
        std::error_code unknown;
        if (std::filesystem::is_directory(recorder.directory, unknown)) directories.insert(recorder.directory);
    }
    Result<> kept;
    for (const auto& directory : directories) {
        if (auto here = catalogue::write_run_record(directory, record, catalogue::Synced::yes); !here && kept)
            kept = std::move(here);
    }
    for (const auto& recorder : catalogues_) {
        if (auto here = keep_record_in(recorder.open, record); !here && kept) kept = std::move(here);
    }
    return kept;
}

Result<> CatalogueKeeper::note(const RunChanges& changes) {
    if (changes.run != record_.run) record_.parameters.clear();
    record_.run = changes.run;
    record_.started = changes.started;
    record_.changes = changes.list;
    record_.changes_left_out = changes.left_out;
    return catalogue::write_run_record(directory_, record_, catalogue::Synced::no);
}

}  // namespace weir::control
