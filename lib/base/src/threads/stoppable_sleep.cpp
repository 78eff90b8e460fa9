// SPDX-License-Identifier: Apache-2.0
#include "weir/base/stoppable_sleep.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace weir {

bool stoppable_sleep(std::chrono::nanoseconds time, const std::stop_token& stop) {
    constexpr std::chrono::nanoseconds time_max = std::chrono::years{1};  // added to now, it does not overflow
    if (time.count() > 0 && !stop.stop_requested()) {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        never.wait_for(lock, stop, std::min(time, time_max), [] { return false; });
    }
    return !stop.stop_requested();
}

}  // namespace weir
