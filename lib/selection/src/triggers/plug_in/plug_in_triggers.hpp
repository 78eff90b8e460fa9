// SPDX-License-Identifier: Apache-2.0
// Triggers of a plug-in, which its process (TriggerProcess) brings. They wait here until there is room for their
// events, and are not counted as received until then, as those of a trigger unit outside are not: a run that ends by
// itself waits for what was received. Only so many wait; beyond that the plug-in has no credit, and waits in its next
// send, which is its busy.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "triggers/outside/next_trigger.hpp"
#include "triggers/outside/trigger_order.hpp"
#include "triggers/trigger_source.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::selection {

class PlugInTriggers final : public TriggerSource {
public:
    static constexpr std::size_t waiting_max = 256;

    PlugInTriggers(Level1Id first, Reporter report) : first_(first), report_(std::move(report)) {}
    /// `on_room` is called by the thread of the supervisor when the plug-in may send more; it must not wait.
    void use(std::function<void()> on_room) { on_room_ = std::move(on_room); }

    // By the thread of the plug-in's process.
    /// For so many more there is room here; 0 before the run has started.
    [[nodiscard]] std::size_t room() const;
    /// True: the supervisor has to be woken, since none waited. After the end of the run they are refused, and counted.
    [[nodiscard]] bool add(const wire::InputTrigger& trigger);
    /// That came and were not collected yet. Any thread.
    [[nodiscard]] std::size_t waiting() const;
    /// The level-1 id that follows all that came and count.
    [[nodiscard]] Level1Id next_id() const;

    // By the thread of the supervisor.
    void start_run(SteadyTime now) override;
    void resume(SteadyTime) override {}  // what came in the pause waits
    void end_input() override;
    void collect(SteadyTime now, std::size_t room) override;
    [[nodiscard]] std::vector<SkippedIds> take_skipped() override { return order_.take_skipped(); }
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
    [[nodiscard]] service::StationEvents faults() const override { return order_.faults(); }

private:
    const Level1Id first_;
    const Reporter report_;
    std::function<void()> on_room_;

    // Of the thread of the supervisor.
    std::deque<wire::EventTicket> taken_;  // and not yet an event
    bool more_ = false;
    TriggerOrder order_{"the trigger plug-in"};
    std::uint64_t tickets_ = 0;  // of all that were taken

    mutable std::mutex mutex_;  // for the rest, held for moments
    enum class State : std::uint8_t { before, runs, over } state_ = State::before;
    std::deque<wire::InputTrigger> waiting_;
    NextTrigger next_{first_};
    std::uint64_t received_ = 0, stopping_ = 0;
};

}  // namespace weir::selection
