// SPDX-License-Identifier: Apache-2.0
// Software triggers by the clock: at equal intervals, or at random ones (exponential, as radioactive decays). Their
// times are computed and not measured: a process that was late makes the triggers of the time that it missed, with the
// times that they should have had. A trigger whose time comes when there is no room for it does not happen: it is dead
// time, and counted, as with a detector's trigger that is vetoed by busy. If it waited instead, it would come at a time
// that is not its own, and what follows a busy period would be a burst that no random process makes.
#pragma once

#include <cstdint>

#include "triggers/trigger_source.hpp"
#include "weir/base/random.hpp"

namespace weir::selection {

struct ClockTriggersOptions {
    double rate = 1;      // a second
    bool random = false;  // intervals
    Level1Id first{1};
    std::uint64_t seed = 1;  // of the intervals and the headers
};

class ClockTriggers final : public TriggerSource {
public:
    /// The clock outlives it.
    ClockTriggers(const ClockTriggersOptions& options, const Clock& clock);

    void start_run(SteadyTime now) override;
    void resume(SteadyTime now) override;
    [[nodiscard]] bool due(SteadyTime now) override { return now >= next_at_; }
    [[nodiscard]] wire::EventTicket take(SteadyTime now) override;
    void refuse(SteadyTime now) override;
    [[nodiscard]] std::optional<SteadyTime> next() const override { return next_at_; }
    [[nodiscard]] bool has_times() const override { return true; }
    [[nodiscard]] bool obeys_readouts() const override { return true; }
    [[nodiscard]] TriggerCounts counts() const override {
        return {.received = made_, .taken = made_, .dead_time = dead_time_};
    }

private:
    void go_on();

    const ClockTriggersOptions options_;
    const Clock& clock_;
    Random random_;
    std::uint64_t made_ = 0, dead_time_ = 0;
    SteadyTime anchor_{};          // the intervals begin here,
    WallTime wall_anchor_{};       // which is this time of day
    std::uint64_t intervals_ = 0;  // since then
    double offset_ns_ = 0;         // of the next trigger, from the anchor; random intervals
    SteadyTime next_at_{};
};

}  // namespace weir::selection
