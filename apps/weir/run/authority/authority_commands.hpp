// SPDX-License-Identifier: Apache-2.0
// `weir run certify` and `weir run token`: certificates of the partition's own authority for people, and join tokens
// for machines. Both are for who can read D/authority on run control's machine, whether it runs or not.
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_authority_commands(CLI::App& run, Command& chosen);

}  // namespace weir::app
