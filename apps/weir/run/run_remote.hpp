// SPDX-License-Identifier: Apache-2.0
// `weir run status`, `hosts`, `start`, `stop`, `pause`, `resume`, `replace`, `mask`, `unmask` and `apply`: talk to the
// run control that works in a directory.
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_run_remote(CLI::App& run, Command& chosen);

}  // namespace weir::app
