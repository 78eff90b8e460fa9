// SPDX-License-Identifier: Apache-2.0
// Where the supervisor's triggers come from. The supervisor asks for one when it has room for its ticket; what becomes
// of a trigger that finds no room is the business of its source.
//
// Logic only, as the supervisor: one thread makes all calls, and brings the time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/selection/trigger_counts.hpp"
#include "weir/service/event_ids.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::selection {

class TriggerSource {
public:
    virtual ~TriggerSource() = default;

    /// From the first id on.
    virtual void start_run(SteadyTime now) = 0;
    /// After a pause: what would have come meanwhile does not come.
    virtual void resume(SteadyTime now) = 0;

    /// The run ends: no trigger comes in any more, and those that are not tickets are refused.
    virtual void end_input() {}
    /// There is room for so many: a source outside takes them in. All of them are taken then.
    virtual void collect(SteadyTime now, std::size_t room) { static_cast<void>(now), static_cast<void>(room); }
    /// Ids before those taken in that will never come. Each is named once.
    [[nodiscard]] virtual std::vector<SkippedIds> take_skipped() { return {}; }

    /// Whether a trigger is there to be taken.
    [[nodiscard]] virtual bool due(SteadyTime now) = 0;
    /// That trigger, without global id and lumi block.
    [[nodiscard]] virtual wire::EventTicket take(SteadyTime now) = 0;
    /// One is due, and there is no room for it now.
    virtual void refuse(SteadyTime now) { static_cast<void>(now); }
    /// When the next one is due, if that is known: a time that has come at the latest when due() is true.
    [[nodiscard]] virtual std::optional<SteadyTime> next() const = 0;

    /// Triggers happen at times of their own, so that time without room for them is dead time.
    [[nodiscard]] virtual bool has_times() const = 0;
    /// A busy readout holds them.
    [[nodiscard]] virtual bool obeys_readouts() const = 0;

    [[nodiscard]] virtual TriggerCounts counts() const = 0;
    /// Level-1 ids of the run with which something was wrong, by what it was.
    [[nodiscard]] virtual service::StationEvents faults() const { return {}; }
};

}  // namespace weir::selection
