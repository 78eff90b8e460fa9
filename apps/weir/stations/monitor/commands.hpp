// SPDX-License-Identifier: Apache-2.0
// The command of monitors. It declares itself below `parent`; when the user names it, it becomes `chosen`
// (cli/command_line.hpp).
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_monitor(CLI::App& parent, Command& chosen);

}  // namespace weir::app
