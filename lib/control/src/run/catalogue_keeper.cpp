// SPDX-License-Identifier: Apache-2.0
#include "weir/control/catalogue_keeper.hpp"

#include <algorithm>

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
    return kept;
}

}  // namespace weir::control
