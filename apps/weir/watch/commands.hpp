// SPDX-License-Identifier: Apache-2.0
// Commands that look at what goes on now.
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_top(CLI::App& parent, Command& chosen);
void add_tap(CLI::App& parent, Command& chosen);

}  // namespace weir::app
