// SPDX-License-Identifier: Apache-2.0
// Triggers that are fragments: an event begins when a fragment of one source is in the buffers of its readout, which
// reports it (FragmentSeen). The source may send its fragments out of order, by UDP for example: one that is missing
// before others is waited for a short while. What never came is lost, as a trigger of a trigger unit is.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "triggers/outside/trigger_order.hpp"
#include "triggers/trigger_source.hpp"
#include "weir/base/report.hpp"

namespace weir::selection {

class FirstTriggers final : public TriggerSource {
public:
    static constexpr std::chrono::milliseconds missing_wait{1000};  // for an id before others that are there
    static constexpr std::size_t ahead_max = 256;                   // so many others do not wait any longer
    static constexpr std::size_t waiting_max = 1U << 22;            // no readout holds more

    /// The clock outlives it.
    FirstTriggers(SourceId source, Level1Id first, Reporter report, const Clock& clock);

    /// A readout has these fragments. Messages may overtake each other. False: it is no message of such a readout.
    [[nodiscard]] bool seen(const wire::FragmentSeen& message, SteadyTime now);
    /// The readout was started again: its process counts from 0.
    void restarted() noexcept;

    void start_run(SteadyTime now) override;
    void resume(SteadyTime) override {}  // the fragments of the pause are in the buffers
    void end_input() override;
    void collect(SteadyTime now, std::size_t room) override;
    [[nodiscard]] std::vector<SkippedIds> take_skipped() override { return order_.take_skipped(); }
    [[nodiscard]] bool due(SteadyTime) override { return !taken_.empty(); }
    [[nodiscard]] wire::EventTicket take(SteadyTime now) override;
    [[nodiscard]] std::optional<SteadyTime> next() const override { return next_at_; }
    /// The source waits while its readout is full.
    [[nodiscard]] bool has_times() const override { return false; }
    /// Waiting would not empty it: the fragments are there.
    [[nodiscard]] bool obeys_readouts() const override { return false; }
    [[nodiscard]] TriggerCounts counts() const override;
    [[nodiscard]] service::StationEvents faults() const override { return order_.faults(); }

private:
    struct Waiting {
        wire::EventTicket ticket{};
        SteadyTime since{};
    };

    void take_in(const std::vector<wire::SeenFragment>& fragments, SteadyTime now);

    const SourceId source_;
    const Level1Id first_;
    const Reporter report_;
    const Clock& clock_;
    std::uint64_t next_number_ = 0;                                      // of the readout's process
    std::map<std::uint64_t, std::vector<wire::SeenFragment>> overtook_;  // by the number of their first
    std::multimap<std::int64_t, Waiting> waiting_;  // by how many ids they are from the first of the run
    std::int64_t newest_ = 0;                       // of them
    std::deque<wire::EventTicket> taken_;           // and not yet an event
    std::optional<SteadyTime> room_since_{};  // without a break; a fragment that is missing may wait for room itself
    std::optional<SteadyTime> next_at_{};
    bool ended_ = false;
    TriggerOrder order_;
    TriggerCounts counts_;
};

}  // namespace weir::selection
