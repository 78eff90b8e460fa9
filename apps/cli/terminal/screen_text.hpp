// SPDX-License-Identifier: Apache-2.0
// Texts from outside, as a screen of columns may show them: every character takes a known number of columns, and none
// moves the cursor, changes the order of others or cannot be seen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::app {

/// At most `width` columns, "…" at the end of what was cut. Controls and bytes that are not UTF-8 become \x1b; marks of
/// direction, joiners, combining and all characters whose width terminals disagree about become \u{202e}. Takes time
/// by `width`, not by the size of the text.
[[nodiscard]] std::string screen_text(std::string_view text, std::size_t width);

/// The same, filled with spaces to exactly `width` columns.
[[nodiscard]] std::string screen_cell(std::string_view text, std::size_t width, bool right = false);

/// Over several lines, at most `lines_max` of them: a long text, where there is room for it.
[[nodiscard]] std::vector<std::string> screen_lines(std::string_view text, std::size_t width, std::size_t lines_max);

}  // namespace weir::app
