// SPDX-License-Identifier: Apache-2.0
// Which directories of recorders a user means by one: the first directory of a recorder, or that of a run with several
// recorders, each of which has its own below it.
#pragma once

#include <filesystem>
#include <vector>

namespace weir::app {

/// `directory` when a catalogue lies in it, else those right below it in which one lies, by name. Empty: there is none.
[[nodiscard]] std::vector<std::filesystem::path> directories_with_catalogue(const std::filesystem::path& directory);

/// The same for directories in which a station keeps its alarms, or would: beside a catalogue.
[[nodiscard]] std::vector<std::filesystem::path> directories_with_alarms(const std::filesystem::path& directory);

}  // namespace weir::app
