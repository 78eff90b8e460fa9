// SPDX-License-Identifier: Apache-2.0
// The machine's own time, for options that name no other Clock. Only measuring instruments (thread_account.hpp,
// weir-bench) ask the system directly; test/project/clock_test.py lists them.
#pragma once

#include "weir/base/clock.hpp"

namespace weir {

/// Lives as long as the program; it has no state.
[[nodiscard]] inline const Clock& system_clock() noexcept {
    static const SystemClock clock;
    return clock;
}

}  // namespace weir
