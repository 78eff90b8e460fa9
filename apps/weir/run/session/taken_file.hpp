// SPDX-License-Identifier: Apache-2.0
// The partition file with which runs are taken: read, kept in the record of each run, and read again between runs.
#pragma once

#include <string>

#include "run/directory/run_directory.hpp"
#include "run/partition/run_settings.hpp"
#include "run/session/run_options.hpp"
#include "weir/catalogue/run_record.hpp"
#include "weir/control/catalogue_keeper.hpp"
#include "weir/control/run_control.hpp"
#include "weir/control/run_service.hpp"

namespace weir::app {

/// The partition file, or the record of a run: then with what that was taken, but for what was typed. Errc::usage: the
/// text is neither.
[[nodiscard]] Result<catalogue::RunRecord> read_partition(RunOptions& options);

/// What all runs of this run control are taken with.
[[nodiscard]] catalogue::RunRecord record_of(const RunOptions& options, const std::string& text);

/// Section [run], and what was typed.
[[nodiscard]] Result<RunSettings> settings_with(const RunOptions& options, const std::string& text);

/// The file again, between runs: what of it counts from now on, and which stations start anew. All of it or nothing.
/// Called by one thread.
class ChangedFile {
public:
    ChangedFile(const RunOptions& options, const RunDirectory& directory, control::CatalogueKeeper& keeper,
                control::RunControl& control, std::string text)
        : options_(options), directory_(directory), keeper_(keeper), control_(control), text_(std::move(text)) {}

    [[nodiscard]] Result<control::AppliedFile> apply();

private:
    const RunOptions& options_;
    const RunDirectory& directory_;
    control::CatalogueKeeper& keeper_;
    control::RunControl& control_;
    std::string text_;  // in effect
};

}  // namespace weir::app
