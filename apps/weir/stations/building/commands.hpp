// SPDX-License-Identifier: Apache-2.0
// The commands of readout and event building. Each add_ declares one below `parent`; when the user names it, it
// becomes `chosen` (cli/command_line.hpp).
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_readout(CLI::App& parent, Command& chosen);
void add_assign(CLI::App& parent, Command& chosen);
void add_build(CLI::App& parent, Command& chosen);

}  // namespace weir::app
