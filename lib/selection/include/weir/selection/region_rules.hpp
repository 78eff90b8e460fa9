// SPDX-License-Identifier: Apache-2.0
// Where the regions of interest of an event come from: a plug-in (regions.hpp), or a table. Each row of a table names a
// condition and sources; an event gets those of all rows that hold for it, each source once:
//
//     type:0x81 = 0x420000+0x420001      its trigger type is 0x81
//     word:0:5 = 0x610000                bit 5 of its level-1 word 0 is set
//     all = 0x7c0000                     every event
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::selection {

/// Appends the sources of an event. Error: the rule failed on it.
using RegionRule = std::function<Result<>(const wire::EventTicket& event, std::vector<SourceId>& sources)>;

/// Errc::usage, unsupported: it cannot be loaded, has no WEIR_REGIONS, or was built against another weir. The library
/// stays loaded until the process ends.
[[nodiscard]] Result<RegionRule> load_region_rule(const std::filesystem::path& library);

/// Errc::usage: a row is none; the error names it.
[[nodiscard]] Result<RegionRule> make_region_table(const std::vector<std::string>& rows);

}  // namespace weir::selection
