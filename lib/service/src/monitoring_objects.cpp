// SPDX-License-Identifier: Apache-2.0
#include "weir/service/monitoring_objects.hpp"

#include <chrono>

namespace weir::service {

StationSnapshot snapshot_of(const StationReport& report, WallTime now) {
    const auto& ledger = report.status.ledger;
    StationSnapshot snapshot;
    snapshot.station = report.station;
    snapshot.kind = name(report.kind);
    snapshot.state = name(report.state);
    snapshot.time = std::chrono::duration<double>(now.time_since_epoch()).count();
    if (report.run) snapshot.run = number(*report.run);
    snapshot.received = ledger.received;
    snapshot.stored = ledger.stored;
    snapshot.in_hand = ledger.in_hand;
    for (const auto& [reason, count] : ledger.rejected)
        snapshot.rejected.push_back({reason, static_cast<double>(count)});
    for (const auto& [what, value] : report.status.counters) snapshot.counters.push_back({what, value});
    for (const auto& alarm : report.alarms)
        if (!alarm.acknowledged_by) snapshot.alarms.push_back(alarm.name);
    return snapshot;
}

}  // namespace weir::service
