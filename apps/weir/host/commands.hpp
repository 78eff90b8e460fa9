// SPDX-License-Identifier: Apache-2.0
// The command of a machine that runs stations for a run control elsewhere. add_ declares it below `parent`; when the
// user names it, it becomes `chosen` (cli/command_line.hpp).
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_host(CLI::App& parent, Command& chosen);

}  // namespace weir::app
