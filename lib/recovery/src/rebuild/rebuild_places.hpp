// SPDX-License-Identifier: Apache-2.0
// What rebuild and adopt have in common: every file of the directories, entered.
#pragma once

#include <filesystem>
#include <set>
#include <span>

#include "found_files.hpp"
#include "weir/base/guid.hpp"
#include "weir/recovery/rebuild.hpp"

namespace weir::recovery {

/// The closed files that the catalogue has of these runs.
[[nodiscard]] Result<std::set<Guid>> known_files(const std::set<RunAtRecorder>& runs, catalogue::Catalogue& catalogue);

/// `before`: as the names were found before anything is recovered. `known`: files that are not to be counted as added.
/// `remains`: as in rebuild_catalogue().
[[nodiscard]] Result<RebuildResult> rebuild_places(std::span<const std::filesystem::path> places, FoundFiles before,
                                                   const std::set<Guid>& known, const CatalogueRemains& remains,
                                                   catalogue::Catalogue& catalogue, const Clock& clock);

}  // namespace weir::recovery
