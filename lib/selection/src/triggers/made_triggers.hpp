// SPDX-License-Identifier: Apache-2.0
// Triggers for replays and tests: as fast as they are taken, or at a rate. A trigger that finds no room waits, since
// it has no time of its own; at a rate the source falls behind by 100 ms at most, and then skips.
#pragma once

#include <cstdint>
#include <vector>

#include "triggers/trigger_source.hpp"

namespace weir::selection {

struct MadeTriggersOptions {
    double rate = 0;  // a second; 0: as fast as they are taken
    Level1Id first{1};
    std::uint64_t seed = 1;
    std::vector<wire::EventTicket> headers{};  // of recorded events, in turn; empty: made up
};

class MadeTriggers final : public TriggerSource {
public:
    /// The clock outlives it.
    MadeTriggers(MadeTriggersOptions options, const Clock& clock);

    void start_run(SteadyTime now) override;
    void resume(SteadyTime now) override { next_at_ = now; }
    [[nodiscard]] bool due(SteadyTime now) override;
    [[nodiscard]] wire::EventTicket take(SteadyTime now) override;
    [[nodiscard]] std::optional<SteadyTime> next() const override;
    [[nodiscard]] bool has_times() const override { return false; }
    [[nodiscard]] bool obeys_readouts() const override { return false; }
    [[nodiscard]] TriggerCounts counts() const override { return {.received = made_, .taken = made_}; }

private:
    const MadeTriggersOptions options_;
    const Clock& clock_;
    std::uint64_t made_ = 0;
    SteadyTime next_at_{};
};

/// Bunch crossing, type and level-1 words of a trigger that no detector gave: the same for the same index.
void make_up_header(std::uint64_t seed, std::uint64_t index, wire::EventTicket& ticket);

}  // namespace weir::selection
