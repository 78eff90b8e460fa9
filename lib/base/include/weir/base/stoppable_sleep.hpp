// SPDX-License-Identifier: Apache-2.0
// A pause that a stop ends at once. std::this_thread::sleep_for() cannot be stopped, and is not used in the product's
// sources (test/project/clock_test.py).
#pragma once

#include <chrono>
#include <stop_token>

namespace weir {

/// Returns when `time` has passed or a stop is requested. False: stopped; so also when `time` is zero or less, for
/// which it does not wait. Real time passes, whatever Clock the caller uses.
[[nodiscard]] bool stoppable_sleep(std::chrono::nanoseconds time, const std::stop_token& stop);

}  // namespace weir
