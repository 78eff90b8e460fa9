// SPDX-License-Identifier: Apache-2.0
// How long triggers could not be taken in a run, and because of whom. Causes overlap: each has its own seconds, and the
// dead time is that in which there was at least one.
#pragma once

#include <map>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/wire/datagram.hpp"

namespace weir::selection {

class BusyAccount {
public:
    using Cause = wire::StationId;   // a readout, the DFM, or:
    static constexpr Cause units{};  // no unit has room

    /// A run begins: nothing is counted yet.
    void start_run(SteadyTime now);
    /// What holds from now on. `runs`: triggers are wanted; else no time is counted at all.
    void set(SteadyTime now, bool runs, const std::vector<Cause>& causes);
    /// Counts the time up to now.
    void count(SteadyTime now);

    [[nodiscard]] std::chrono::nanoseconds running() const noexcept { return running_; }
    [[nodiscard]] std::chrono::nanoseconds dead() const noexcept { return dead_; }
    [[nodiscard]] const std::map<Cause, std::chrono::nanoseconds>& busy() const noexcept { return busy_; }

private:
    SteadyTime since_{};
    bool runs_ = false;
    std::vector<Cause> causes_;
    std::chrono::nanoseconds running_{0}, dead_{0};
    std::map<Cause, std::chrono::nanoseconds> busy_;
};

}  // namespace weir::selection
