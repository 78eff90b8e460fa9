// SPDX-License-Identifier: Apache-2.0
// The commands of level 2 and the event filter. Each add_ declares one below `parent`; when the user names it, it
// becomes `chosen` (cli/command_line.hpp).
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_supervise(CLI::App& parent, Command& chosen);
void add_select(CLI::App& parent, Command& chosen);
void add_filter(CLI::App& parent, Command& chosen);

}  // namespace weir::app
