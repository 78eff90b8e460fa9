// SPDX-License-Identifier: Apache-2.0
// Keeps runs where the recorders keep theirs: in their catalogues.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "weir/catalogue/catalogue.hpp"
#include "weir/control/run_control.hpp"
#include "weir/control/run_numbers.hpp"

namespace weir::control {

/// The catalogue of one recorder, or nothing when it has none yet. Opened for each use: run control is no user of it in between.
using OpenCatalogue = std::function<Result<std::unique_ptr<Catalogue>>()>;

class CatalogueKeeper final : public RunKeeper {
public:
    CatalogueKeeper(RunNumbers numbers, std::vector<OpenCatalogue> catalogues) : numbers_(std::move(numbers)), catalogues_(std::move(catalogues)) {}

    [[nodiscard]] Result<RunNumber> next_run() override;
    [[nodiscard]] Result<> keep(RunNumber run, const std::map<std::string, std::string>& parameters) override;

private:
    RunNumbers numbers_;
    const std::vector<OpenCatalogue> catalogues_;
};

}  // namespace weir::control
