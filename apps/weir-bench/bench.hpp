// SPDX-License-Identifier: Apache-2.0
// The command `weir bench` with its benchmarks and their options.
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_bench(CLI::App& parent, Command& chosen);

}  // namespace weir::app
