// SPDX-License-Identifier: Apache-2.0
// Keeps runs where the recorders keep theirs: in their catalogues.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/catalogue/catalogue.hpp"
#include "weir/control/run_control.hpp"
#include "weir/control/run_numbers.hpp"

namespace weir::control {

/// The catalogue of one recorder, or nothing when it has none yet. Opened for each use: run control is no user of it in
/// between.
using OpenCatalogue = std::function<Result<std::unique_ptr<catalogue::Catalogue>>()>;

struct RecorderCatalogue {
    OpenCatalogue open;
    std::optional<std::string>
        checksum{};  // by which a hand-off of the partition hands its files over; nothing: none does
};

class CatalogueKeeper final : public RunKeeper {
public:
    CatalogueKeeper(RunNumbers numbers, std::vector<RecorderCatalogue> catalogues, OpenRun open_run)
        : numbers_(std::move(numbers)), catalogues_(std::move(catalogues)), open_run_(std::move(open_run)) {}

    [[nodiscard]] Result<RunNumber> next_run() override;
    [[nodiscard]] Result<HandOffAccount> hand_off(RunNumber run) override;
    [[nodiscard]] Result<> keep(RunNumber run, const std::map<std::string, std::string>& parameters) override;
    [[nodiscard]] Result<> note(RunNumber run, const std::map<std::string, std::string>& parameters) override {
        return open_run_.note(run, parameters);
    }
    void over() override { open_run_.over(); }
    [[nodiscard]] Result<std::optional<OpenRun::Left>> left() override { return open_run_.left(); }

private:
    RunNumbers numbers_;
    const std::vector<RecorderCatalogue> catalogues_;
    const OpenRun open_run_;
};

}  // namespace weir::control
