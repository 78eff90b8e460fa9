// SPDX-License-Identifier: Apache-2.0
// The commands that sum and check files. Each add_ declares one below `parent`; when the user names it, it becomes
// `chosen` (cli/command_line.hpp).
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_sum(CLI::App& parent, Command& chosen);
void add_check(CLI::App& parent, Command& chosen);
void add_scrub(CLI::App& parent, Command& chosen);
void add_combine(CLI::App& parent, Command& chosen);

}  // namespace weir::app
