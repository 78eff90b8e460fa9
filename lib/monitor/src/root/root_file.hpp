// SPDX-License-Identifier: Apache-2.0
// A ROOT file of histograms, each a TH1D or TH2D, that ROOT, JSROOT and uproot read: not compressed, and with the
// descriptions of its classes. Format: https://root.cern/doc/master/classTFile.html; docs/monitors.md.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/monitor/histogram.hpp"

namespace weir::monitor {

/// The bytes of the file. `name`: of it, as it stands within. Each histogram has a name of its own. Errc::limit: more
/// than the short form of a ROOT file can hold (2 GB).
[[nodiscard]] Result<std::vector<std::byte>> root_file_of(std::string_view name,
                                                          std::span<const Histogram* const> histograms, WallTime now);

}  // namespace weir::monitor
