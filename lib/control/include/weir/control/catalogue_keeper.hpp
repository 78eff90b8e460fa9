// SPDX-License-Identifier: Apache-2.0
// Keeps runs where the recorders keep theirs: in their catalogues, and their records beside the files.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/catalogue/run_record.hpp"
#include "weir/control/open_run.hpp"
#include "weir/control/run_books.hpp"
#include "weir/control/run_control.hpp"
#include "weir/control/run_numbers.hpp"

namespace weir::control {

struct RecorderCatalogue {
    RecorderCatalogue(OpenCatalogue open, std::optional<std::string> by = {}, std::filesystem::path directory = {})
        : books(std::make_shared<LocalBooks>(std::move(open), std::move(directory))), checksum(std::move(by)) {}
    RecorderCatalogue(std::shared_ptr<RunBooks> those, std::optional<std::string> by)
        : books(std::move(those)), checksum(std::move(by)) {}

    std::shared_ptr<RunBooks> books;
    std::optional<std::string>
        checksum;  // by which a hand-off of the partition hands its files over; nothing: none does
};

class CatalogueKeeper final : public RunKeeper {
public:
    /// `directory` is run control's own: the record of a run goes there first. `record` has what all runs are taken
    /// with.
    CatalogueKeeper(RunNumbers numbers, std::vector<RecorderCatalogue> catalogues, OpenRun open_run,
                    std::filesystem::path directory, catalogue::RunRecord record)
        : numbers_(std::move(numbers)),
          catalogues_(std::move(catalogues)),
          open_run_(std::move(open_run)),
          directory_(std::move(directory)),
          record_(std::move(record)) {}

    /// With what the runs to come are taken. Not in a run.
    void take_with(catalogue::RunRecord record) { record_ = std::move(record); }
    [[nodiscard]] Result<RunNumber> next_run() override;
    [[nodiscard]] Result<HandOffAccount> hand_off(RunNumber run) override;
    [[nodiscard]] Result<> keep(RunNumber run, const std::map<std::string, std::string>& parameters) override;
    [[nodiscard]] Result<> note(RunNumber run, const std::map<std::string, std::string>& parameters) override {
        return open_run_.note(run, parameters);
    }
    [[nodiscard]] Result<> note(const RunChanges& changes) override;
    void over() override { open_run_.over(); }
    [[nodiscard]] Result<std::optional<RunLeft>> left() override;

private:
    [[nodiscard]] Result<> keep_record(RunNumber run, const std::map<std::string, std::string>& parameters);

    RunNumbers numbers_;
    const std::vector<RecorderCatalogue> catalogues_;
    const OpenRun open_run_;
    const std::filesystem::path directory_;
    catalogue::RunRecord record_;  // of the present run
};

}  // namespace weir::control
