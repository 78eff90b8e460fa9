// SPDX-License-Identifier: Apache-2.0
// Events as text for people: a line each, or their words.
#pragma once

#include <string>
#include <string_view>

#include "files/events/event_summary.hpp"

namespace weir::app {

inline constexpr std::string_view event_titles =
    "# event     global id  level-1 id  block       bytes   robs   adler32  tags\n";

/// Below the titles; the results of level 2 by name on lines of their own.
[[nodiscard]] std::string event_line(const EventSummary& summary);

/// The same of an event that no file has, in a terminal of 80 columns.
inline constexpr std::string_view tapped_event_titles =
    "# station       global id  level-1 id  block      bytes  robs  tags\n";
[[nodiscard]] std::string tapped_event_line(std::string_view station, const EventSummary& summary);

/// Eight words a line behind their offset in the event, which fit into 80 columns; bytes that are no whole word at the
/// end as bytes.
[[nodiscard]] std::string event_words(const EventSummary& summary, ConstData bytes);

}  // namespace weir::app
