// SPDX-License-Identifier: Apache-2.0
// What `weir top` shows: pages of lines, made of what was last seen. Every line fits the width, whatever the stations
// call themselves and report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/terminal.hpp"
#include "watch/watch.hpp"

namespace weir::app {

enum class TopSort { partition, rate, in_hand, name, trouble };
inline constexpr int top_sorts = 5;
[[nodiscard]] std::string_view name(TopSort sort) noexcept;

struct TopView {
    enum class Page { partition, station, alarms, log, help } page = Page::partition;
    TopSort sort = TopSort::partition;
    std::string selected{};    // a station by name
    std::size_t scrolled = 0;  // lines; of the log: up from its end
};

/// Of stations, in the order in which they are shown.
[[nodiscard]] std::vector<const StationPicture*> sorted_stations(const PartitionPicture& partition, TopSort sort);

/// Exactly `size.rows` lines. `view.scrolled` is brought to where it makes sense.
[[nodiscard]] std::vector<ScreenLine> top_page(const Watched& watched, TopView& view, ScreenSize size, SteadyTime now);

/// The partition with all stations and alarms, for a pipe: as many lines as it takes.
[[nodiscard]] std::vector<ScreenLine> whole_page(const Watched& watched, std::size_t columns, SteadyTime now);

}  // namespace weir::app
