// SPDX-License-Identifier: Apache-2.0
// `weir bench`: the benchmarks are a program of their own, weir-bench, which lies beside the whole program and takes
// over.
#pragma once

#include <span>

#include "cli/command_line.hpp"

namespace weir::app {

/// For `weir --help`: its name among the commands, without what weir-bench knows of it.
void add_bench(CLI::App& parent, Command& chosen);

/// `arguments` are those behind `weir bench`. Returns only if weir-bench cannot be started: it has been said, and this
/// is the exit code.
[[nodiscard]] int become_bench(std::span<char* const> arguments);

}  // namespace weir::app
