// SPDX-License-Identifier: Apache-2.0
// The reports of run control while a command waits for the end of a run, on stderr: an operator sees what a slow stop
// waits for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weir/base/clock.hpp"
#include "weir/service/control_client.hpp"

namespace weir::app {

class StopProgress {
public:
    /// Of what run control reports from now on. `client` and `clock` outlive it.
    StopProgress(std::string me, const service::ControlClient& client, const Clock& clock);

    /// To be called while it waits, as often as wanted: after two seconds it prints what run control has reported since
    /// the begin, and once a second what is new. A run control that does not answer is no news.
    void step();

private:
    void look_for_last();

    const std::string me_;
    const service::ControlClient& client_;
    const Clock& clock_;
    const SteadyTime begin_;
    SteadyTime asked_{};
    std::optional<std::uint64_t> after_{};  // number of the last line that was read
    bool said_ = false;                     // that it waits
};

}  // namespace weir::app
