// SPDX-License-Identifier: Apache-2.0
// The histograms of a run as two files: NAME.00000012.histograms.root, for ROOT, JSROOT and uproot, and the same with
// .json, for everything else, and to be shown again as a reference.
#pragma once

#include <filesystem>

#include "histogram_json.hpp"
#include "weir/base/clock.hpp"

namespace weir::monitor {

/// In place of files of the same run. Returns the ROOT file. Error: io, limit; with the path.
[[nodiscard]] Result<std::filesystem::path> save_histograms(const std::filesystem::path& directory,
                                                            const SavedWith& with,
                                                            const KeptHistograms::Picture& picture, WallTime now);

}  // namespace weir::monitor
