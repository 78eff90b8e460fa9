// SPDX-License-Identifier: Apache-2.0
// `weir run notify`: sends a test message to the notifiers of a partition file.
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_run_notify(CLI::App& run, Command& chosen);

}  // namespace weir::app
