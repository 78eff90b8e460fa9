// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

namespace weir::testing {

/// True as soon as `condition` holds; false when it does not within the time (long: only a failure waits for it).
template <class Condition>
[[nodiscard]] bool eventually(const Condition& condition, std::chrono::milliseconds within = std::chrono::seconds{60}) {
    const auto until = std::chrono::steady_clock::now() + within;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

}  // namespace weir::testing
