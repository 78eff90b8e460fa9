// SPDX-License-Identifier: Apache-2.0
// The commands of the run control. Each add_ declares one below `parent`; when the user names it, it becomes
// `chosen` (cli/command_line.hpp).
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_run(CLI::App& parent, Command& chosen);
void add_config(CLI::App& parent, Command& chosen);

}  // namespace weir::app
