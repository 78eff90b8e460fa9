// SPDX-License-Identifier: Apache-2.0
// `weir run show` and `weir run diff`: with what runs were taken.
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_run_records(CLI::App& run, Command& chosen);

}  // namespace weir::app
