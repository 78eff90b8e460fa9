// SPDX-License-Identifier: Apache-2.0
// Triggers of a trigger unit outside, which a server brings in blocks (TriggerServer). A trigger is taken in at the
// moment when there is room for its event, and only then is it answered: until then it waits in its block, whose sender
// gets no credit. So "taken" means that the event is made, and busy is felt by the trigger unit without a message of
// its own.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "triggers/outside/trigger_order.hpp"
#include "triggers/trigger_source.hpp"
#include "weir/delivery/block_receiver.hpp"

namespace weir::selection {

class NetworkTriggers final : public TriggerSource {
public:
    /// `resume` goes on with the blocks that wait: it calls take(). True: none waits any more.
    NetworkTriggers(Level1Id first, Reporter report) : first_(first), report_(std::move(report)) {}
    void use(std::function<bool()> resume) { resume_ = std::move(resume); }

    // By any thread.
    /// A record of a block, as BlockReceiver::Take has it.
    [[nodiscard]] delivery::RecordFate take(const wire::InputTrigger& trigger, bool last);
    /// One that could not be read.
    void malformed();

    // By the thread of the supervisor.
    void start_run(SteadyTime now) override;
    void resume(SteadyTime) override {}  // what came in the pause waits
    void collect(SteadyTime now, std::size_t room) override;
    [[nodiscard]] std::vector<SkippedIds> take_skipped() override;
    [[nodiscard]] bool due(SteadyTime) override { return !taken_.empty(); }
    [[nodiscard]] wire::EventTicket take(SteadyTime now) override;
    /// Those that are left over when more came at once than one step takes.
    [[nodiscard]] std::optional<SteadyTime> next() const override {
        return more_ ? std::optional(SteadyTime::min()) : std::nullopt;
    }
    [[nodiscard]] bool has_times() const override { return true; }
    /// Before they are taken in: one that was is an event.
    [[nodiscard]] bool obeys_readouts() const override { return taken_.empty(); }
    [[nodiscard]] TriggerCounts counts() const override;
    [[nodiscard]] service::StationEvents faults() const override;

private:
    const Level1Id first_;
    const Reporter report_;
    std::function<bool()> resume_;
    std::deque<wire::EventTicket> taken_;  // and not yet an event
    bool more_ = false;

    mutable std::mutex mutex_;  // for the rest, held for moments
    std::size_t room_ = 0;      // for so many may be taken now
    std::vector<wire::EventTicket> fresh_;
    TriggerOrder order_{"the trigger unit"};
    TriggerCounts counts_;
};

}  // namespace weir::selection
