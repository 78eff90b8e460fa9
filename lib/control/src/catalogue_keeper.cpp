// SPDX-License-Identifier: Apache-2.0
#include "weir/control/catalogue_keeper.hpp"

#include <algorithm>

namespace weir::control {

Result<RunNumber> CatalogueKeeper::next_run() {
    RunNumber free{1};
    for (const auto& open : catalogues_) {
        const auto catalogue = open();
        if (!catalogue) return std::unexpected(catalogue.error());
        if (!*catalogue) continue;
        const auto next = (*catalogue)->next_free_run();
        if (!next) return std::unexpected(next.error());
        free = std::max(free, *next);
    }
    return numbers_.take(free);
}

Result<> CatalogueKeeper::keep(RunNumber run, const std::map<std::string, std::string>& parameters) {
    for (const auto& open : catalogues_) {
        const auto catalogue = open();
        if (!catalogue) return std::unexpected(catalogue.error());
        if (!*catalogue) continue;
        for (const auto& [name, value] : parameters) {
            if (auto set = (*catalogue)->set_run_parameter(run, name, value); !set) return set;
        }
    }
    return {};
}

}  // namespace weir::control
