// SPDX-License-Identifier: Apache-2.0
// Text that may hold anything, made fit for one line of a log or an error message: a name that came
// from outside can neither start a line of its own nor colour the terminal.
#pragma once

#include <string>
#include <string_view>

namespace weir::service {

/// Control characters as \n, \t, \x1b; cut at `size_max` bytes, and "..." then says so.
[[nodiscard]] std::string on_one_line(std::string_view text, std::size_t size_max = 1000);

/// A basic string of TOML, with its quotes.
[[nodiscard]] std::string toml_quoted(std::string_view text);

}  // namespace weir::service
