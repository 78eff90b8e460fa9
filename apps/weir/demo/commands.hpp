// SPDX-License-Identifier: Apache-2.0
// The command that shows the whole way. add_demo declares it below `parent`; when the user names it, it becomes
// `chosen` (cli/command_line.hpp).
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_demo(CLI::App& parent, Command& chosen);

}  // namespace weir::app
