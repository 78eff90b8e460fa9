// SPDX-License-Identifier: Apache-2.0
// A program of commands, from its command line to its exit code. There are two: the one that is started, with the
// commands that need little, and the whole one, which takes over for all others (main.cpp has the reason).
#pragma once

#include <span>
#include <string_view>

#include "cli/command_line.hpp"

namespace weir::app {

struct KnownCommand {
    std::string_view name;
    void (*add)(CLI::App& parent, Command& chosen);
};

/// The one that is named in the first place; none of these: null.
[[nodiscard]] const KnownCommand* named_command(std::span<const KnownCommand> commands, int argc, char** argv) noexcept;

/// Parses, runs the command that was chosen and gives the exit code. Of a command that is named in the first place no
/// other is set up; for help, and for what is wrong, all are, in this order.
[[nodiscard]] int run_program(std::span<const KnownCommand> commands, int argc, char** argv);

}  // namespace weir::app
