// SPDX-License-Identifier: Apache-2.0
// What a recorder keeps of runs: its catalogue, and the records beside its files. Here, or on the recorder's machine.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "weir/catalogue/catalogue.hpp"
#include "weir/catalogue/run_record.hpp"
#include "weir/control/run_result.hpp"

namespace weir::control {

/// One thread. Calls wait, for a disk or another machine.
class RunBooks {
public:
    virtual ~RunBooks() = default;
    /// 1: it has no catalogue yet.
    [[nodiscard]] virtual Result<RunNumber> next_free_run() = 0;
    [[nodiscard]] virtual Result<> keep(RunNumber run, const std::map<std::string, std::string>& parameters) = 0;
    /// In the catalogue, and beside the files.
    [[nodiscard]] virtual Result<> keep(const catalogue::RunRecord& record) = 0;
    /// Of a run's files, those that have the sum by which a hand-off goes.
    [[nodiscard]] virtual Result<HandOffAccount> files(RunNumber run, const std::string& checksum) = 0;
};

/// The catalogue of one recorder, or nothing when it has none yet. Opened for each use: who keeps runs is no user of it
/// in between.
using OpenCatalogue = std::function<Result<std::unique_ptr<catalogue::Catalogue>>()>;

class LocalBooks final : public RunBooks {
public:
    /// `directory`: the recorder's first, where records of runs go if it is there; empty: they go nowhere.
    LocalBooks(OpenCatalogue open, std::filesystem::path directory)
        : open_(std::move(open)), directory_(std::move(directory)) {}
    /// The catalogue that a recorder with this directory, and this text in its section, has.
    LocalBooks(const std::filesystem::path& directory, const std::string& catalogue);

    [[nodiscard]] Result<RunNumber> next_free_run() override;
    [[nodiscard]] Result<> keep(RunNumber run, const std::map<std::string, std::string>& parameters) override;
    [[nodiscard]] Result<> keep(const catalogue::RunRecord& record) override;
    [[nodiscard]] Result<HandOffAccount> files(RunNumber run, const std::string& checksum) override;

private:
    const OpenCatalogue open_;
    const std::filesystem::path directory_;
};

}  // namespace weir::control
