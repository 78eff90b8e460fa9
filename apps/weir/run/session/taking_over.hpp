// SPDX-License-Identifier: Apache-2.0
// What a run control needs that goes on with what another one left in a directory: --take-over and --standby.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "run/directory/run_claim.hpp"
#include "run/directory/run_directory.hpp"
#include "run/session/run_options.hpp"
#include "weir/catalogue/run_record.hpp"

namespace weir::app {

/// For --standby and --take-over. Nothing: there is nothing to take over.
[[nodiscard]] Result<std::optional<RunClaim>> claim_to_take_over(const RunOptions& options);

struct PartitionLeft {
    std::filesystem::path file;
    bool run = false;  // it is the record of one that goes on
};

/// With what the run control before this one took its run, or waited for one. Nothing: there was none.
[[nodiscard]] std::optional<PartitionLeft> partition_left(const std::filesystem::path& directory);

/// Whether another run control worked in the directory with this partition file.
[[nodiscard]] bool is_that_of_left(const RunDirectory& directory, const std::string& text);

/// The record of a run says which file that was: `typed`, or another one that counts with the next weir run apply.
void take_file_of(const catalogue::RunRecord& record, const std::filesystem::path& typed, RunOptions& options);

}  // namespace weir::app
