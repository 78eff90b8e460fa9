// SPDX-License-Identifier: Apache-2.0
// The TCP input of a supervisor: a trigger unit outside sends blocks of triggers (docs/formats/input-protocol.md). It
// listens from configure to unconfigure.
#pragma once

#include <functional>
#include <memory>

#include "triggers/outside/network_triggers.hpp"
#include "weir/base/report.hpp"
#include "weir/delivery/block_receiver.hpp"
#include "weir/selection/trigger_input.hpp"

namespace weir::selection {

class TriggerServer {
public:
    using Blocks = delivery::BlockReceiver<wire::InputTrigger>;

    /// `first`: level-1 id of a run's first trigger. The clock outlives the server.
    [[nodiscard]] static Result<std::unique_ptr<TriggerServer>> open(const TriggerInput& input, Level1Id first,
                                                                     Reporter report, const Clock& clock);

    [[nodiscard]] NetworkTriggers& triggers() noexcept { return triggers_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return blocks_->port(); }

    /// `wake` is called when triggers have come that wait to be collected, by any thread until end_run() returns; it
    /// must not wait.
    void start_run(RunNumber run, std::function<void()> wake);
    /// Triggers that are not taken in are refused. Again: does nothing.
    void end_run() { blocks_->end_run(); }

    [[nodiscard]] delivery::BlockReceiverStats stats() const { return blocks_->stats(); }

private:
    TriggerServer(Level1Id first, Reporter report) : triggers_(first, std::move(report)) {}

    NetworkTriggers triggers_;
    std::function<void()> wake_;      // of the run; written while no block can come
    std::unique_ptr<Blocks> blocks_;  // the last member: its threads use the others
};

}  // namespace weir::selection
