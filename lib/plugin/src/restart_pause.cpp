// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/restart_pause.hpp"

#include <algorithm>

#include "weir/base/stoppable_sleep.hpp"

namespace weir::plugin {

using namespace std::chrono_literals;

void RestartPause::grow() {
    pause_ = pause_ == 0ms ? first_ : std::min(2 * pause_, last_);
    until_ = clock_->now() + pause_;
}

bool RestartPause::wait(const std::stop_token& stop) const {
    for (auto now = clock_->now(); now < until_; now = clock_->now())
        if (!stoppable_sleep(std::min<std::chrono::nanoseconds>(20ms, until_ - now), stop)) return false;
    return !stop.stop_requested();
}

}  // namespace weir::plugin
