// SPDX-License-Identifier: Apache-2.0
// Who keeps the supervisor from taking triggers, and for how long.
#include <algorithm>
#include <limits>
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
    readout.hold_above = message.hold_above;
}

/// Here, and with the DFM until they are final.
std::uint64_t Supervisor::in_hand() const noexcept {
    const auto at_assigner = assigner_sent_ + window_;
    return open_.size() + accepted_.size() + rejected_.size() + at_assigner - std::min(at_assigner, assigner_credit_);
}

/// A readout that is busy with few events in hand is full of fragments that had no trigger: waiting would not make
/// room in it.
bool Supervisor::holds(const Readout& readout) const noexcept { return readout.busy && in_hand() > readout.hold_above; }

bool Supervisor::held_by_readouts() const noexcept {
    return triggers_->obeys_readouts() &&
           std::ranges::any_of(readouts_, [this](const auto& readout) { return holds(readout.second); });
}

/// While readouts are busy and not obeyed: no more at once than they bear.
std::uint64_t Supervisor::room_beside_busy() const noexcept {
    std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
    if (!triggers_->obeys_readouts()) return room;
    for (const auto& [id, readout] : readouts_) {
        if (!readout.busy) continue;
        const auto bears = std::uint64_t{readout.hold_above} + 1;
        room = std::min(room, bears - std::min(bears, in_hand()));
    }
    return room;
}

void Supervisor::account_busy(SteadyTime now) {
    causes_.clear();
    for (const auto& [id, readout] : readouts_)
        if (holds(readout)) causes_.push_back(id);
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
