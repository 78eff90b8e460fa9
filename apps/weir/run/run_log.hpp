// SPDX-License-Identifier: Apache-2.0
// `weir run log`: what stations and run control reported, of a run control that works, or that has ended.
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_run_log(CLI::App& run, Command& chosen);

}  // namespace weir::app
