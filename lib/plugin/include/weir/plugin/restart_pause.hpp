// SPDX-License-Identifier: Apache-2.0
// The pause before a process that died is started again: a plug-in that dies at once shall not fill the machine with
// processes.
#pragma once

#include <chrono>
#include <stop_token>

#include "weir/base/clock.hpp"

namespace weir::plugin {

class RestartPause {
public:
    /// The clock outlives it.
    RestartPause(std::chrono::milliseconds first, std::chrono::milliseconds last, const Clock& clock)
        : clock_(&clock), first_(first), last_(last) {}

    /// It died: the next pause begins now, twice as long as the one before.
    void grow();
    /// It did its work.
    void reset() noexcept { pause_ = std::chrono::milliseconds{0}; }
    /// False: stopped.
    [[nodiscard]] bool wait(const std::stop_token& stop) const;
    [[nodiscard]] std::chrono::milliseconds length() const noexcept { return pause_; }

private:
    const Clock* clock_;
    std::chrono::milliseconds first_, last_, pause_{0};
    SteadyTime until_{};
};

}  // namespace weir::plugin
