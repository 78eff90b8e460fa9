// SPDX-License-Identifier: Apache-2.0
// Each connection is an open file, and the usual limit is 1024 for programs that do not ask for more.
#pragma once

#include <cstdint>

namespace weir::app {

/// Raises this process's own limit as far as it may, and returns what it is then. Where that is not enough, opening a
/// file reports it.
std::uint64_t allow_open_files(std::uint64_t wanted);

}  // namespace weir::app
