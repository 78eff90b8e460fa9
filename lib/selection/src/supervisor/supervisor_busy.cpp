// SPDX-License-Identifier: Apache-2.0
// Who keeps the supervisor from taking triggers, and for how long.
#include <utility>

#include "triggers/busy_account.hpp"
#include "triggers/trigger_source.hpp"
#include "weir/selection/supervisor.hpp"

namespace weir::selection {

/// Messages overtake each other: the latest of the readout's process counts.
void Supervisor::take_busy(const wire::ReadoutBusy& message, wire::StationId from) {
    auto& readout = readouts_.at(from);
    if (message.change <= readout.change) return;
    readout.change = message.change;
    readout.busy = message.busy;
}

void Supervisor::account_busy(SteadyTime now) {
    causes_.clear();
    for (const auto& [id, readout] : readouts_)
        if (readout.busy) causes_.push_back(id);
    if (!assigner_has_room() && assigner_) causes_.push_back(*assigner_);
    if (rooms_of_units() == 0) causes_.push_back(BusyAccount::units);
    busy_->set(now, wants_triggers(), causes_);
}

TriggerCounts Supervisor::triggers() const { return triggers_->counts(); }

service::StationEvents Supervisor::trigger_faults() const { return triggers_->faults(); }

Supervisor::BusyTimes Supervisor::busy_times() const {
    const auto seconds = [](std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); };
    BusyTimes times{.running = seconds(busy_->running())};
    if (triggers_->has_times()) times.dead = seconds(busy_->dead());
    for (const auto& [cause, time] : busy_->busy()) {
        const auto readout = readouts_.find(cause);
        const auto& name = cause == BusyAccount::units  ? "units"
                           : readout != readouts_.end() ? readout->second.name
                                                        : assigner_name_;
        times.by_cause[name] += seconds(time);
    }
    return times;
}

}  // namespace weir::selection
