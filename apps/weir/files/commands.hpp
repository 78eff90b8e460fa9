// SPDX-License-Identifier: Apache-2.0
// The commands that look at what was recorded, prove it and bring it back. Each add_ declares one below `parent`;
// when the user names it, it becomes `chosen` (cli/command_line.hpp).
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_ls(CLI::App& parent, Command& chosen);
void add_show(CLI::App& parent, Command& chosen);
void add_cat(CLI::App& parent, Command& chosen);
void add_verify(CLI::App& parent, Command& chosen);
void add_recover(CLI::App& parent, Command& chosen);
void add_drain(CLI::App& parent, Command& chosen);
void add_alarms(CLI::App& parent, Command& chosen);

}  // namespace weir::app
