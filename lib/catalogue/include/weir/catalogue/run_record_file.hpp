// SPDX-License-Identifier: Apache-2.0
// Where the record of a run stands: in the catalogue as the run parameter "record", and in a file beside the run's
// files, from which a catalogue that is rebuilt has it again.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "weir/base/file.hpp"
#include "weir/base/result.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/catalogue/run_record.hpp"

namespace weir::catalogue {

/// The name of the run parameter.
inline constexpr const char* run_record_parameter = "record";

/// D/weir.run.00000012.json
[[nodiscard]] std::filesystem::path run_record_path(const std::filesystem::path& directory, RunNumber run);
/// Those in a directory, by run. Other files are not looked at.
[[nodiscard]] Result<std::vector<std::filesystem::path>> run_record_files(const std::filesystem::path& directory);

/// Replaces the file. Not synced: after a power cut an older one, or none, may be found.
[[nodiscard]] Result<> write_run_record(const std::filesystem::path& directory, const RunRecord& record, Synced synced);
/// Errc::corrupt names the file.
[[nodiscard]] Result<RunRecord> read_run_record(const std::filesystem::path& file);

/// The record alone: its parameters have rows of their own.
[[nodiscard]] Result<> keep_run_record(Catalogue& catalogue, const RunRecord& record);
/// Nothing: the catalogue has none of this run.
[[nodiscard]] Result<std::optional<RunRecord>> kept_run_record(Catalogue& catalogue, RunNumber run);

}  // namespace weir::catalogue
