// SPDX-License-Identifier: Apache-2.0
// One station in `weir top`: the few words behind it in the table, and its page.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/terminal.hpp"
#include "watch/watch.hpp"

namespace weir::app {

/// "12,345", "1.23M": at most 9 columns.
[[nodiscard]] std::string short_number(double number);

/// "48.0 MB".
[[nodiscard]] std::string short_bytes(double bytes);

/// What matters of a station of its kind: credit, latency, queues, files.
[[nodiscard]] std::string station_detail(const StationPicture& station, const Watched& watched);

/// "20.1 GB free, full in 3 h 05 min"; "FULL ..." when a disk takes no events; empty: not known.
[[nodiscard]] std::string disk_text(const Watched& watched);
/// "3 files wait, the oldest for 12 s"; empty: there is no hand-off.
[[nodiscard]] std::string hand_off_text(const Watched& watched);

[[nodiscard]] std::vector<ScreenLine> station_page(const StationPicture& station, const Watched& watched,
                                                   std::size_t columns);

}  // namespace weir::app
