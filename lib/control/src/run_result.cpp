// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_result.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::control {
namespace {

std::uint64_t counter(const StationResult& station, const std::string& name) {
    const auto found = station.counters.find(name);
    return found == station.counters.end() || found->second < 0 ? 0 : static_cast<std::uint64_t>(found->second);
}

std::uint64_t rejected(const StationLedger& ledger) {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : ledger.rejected) sum += count;
    return sum;
}

/// Of all stations of a kind.
struct Sum {
    std::uint64_t stations = 0, received = 0, stored = 0, rejected = 0, duplicates = 0;
    bool whole = true;  // none of them was replaced
};

Sum sum_of(const RunResult& result, StationKind kind) {
    Sum sum;
    for (const auto& station : result.stations) {
        if (station.kind != kind) continue;
        ++sum.stations;
        sum.received += station.ledger.received;
        sum.stored += station.ledger.stored;
        sum.rejected += rejected(station.ledger);
        sum.whole = sum.whole && station.restarts == 0;
    }
    return sum;
}

void check_neighbours(RunResult& result) {
    const auto supervise = sum_of(result, StationKind::supervise);
    const auto assign = sum_of(result, StationKind::assign);
    const auto& events = result.events;
    if (supervise.stations > 0 && assign.stations > 0 && supervise.whole && assign.whole && supervise.stored != assign.received)
        result.problems.push_back(fmt::format("the supervisor accepted {} events, and {} came to be assigned", supervise.stored, assign.received));
    const auto record = sum_of(result, StationKind::record);
    const auto filter = sum_of(result, StationKind::filter);
    const bool rejects = filter.stations > 0;
    if (assign.stations > 0 && record.stations > 0 && !rejects && record.whole && record.stored < events.built)
        result.problems.push_back(fmt::format("{} events are said to be stored, and the recorders hold {} copies", events.built, record.stored));
    if (assign.stations > 0 && record.stations > 0 && rejects && record.whole && filter.whole && record.stored + filter.rejected < events.built)
        result.problems.push_back(fmt::format("{} events were built; the filters rejected {} and the recorders hold {} copies", events.built,
                                              filter.rejected, record.stored));
}

}  // namespace

RunEvents events_of(const std::vector<StationResult>& stations) {
    RunEvents events;
    for (const auto& station : stations) {
        switch (station.kind) {
            case StationKind::supervise:
                events.triggers += station.ledger.received;
                events.accepted += station.ledger.stored;
                events.rejected += rejected(station.ledger);
                break;
            case StationKind::assign:
                events.built += station.ledger.stored;
                events.incomplete += counter(station, "incomplete");
                break;
            case StationKind::record: events.recorded += station.ledger.stored; break;
            default: break;
        }
    }
    return events;
}

void balance(RunResult& result) {
    result.events = events_of(result.stations);
    result.files = result.bytes_stored = 0;
    for (const auto& station : result.stations) {
        if (station.kind == StationKind::record) {
            result.files += counter(station, "files");
            result.bytes_stored += counter(station, "bytes_stored");
        }
        const auto& l = station.ledger;
        if (l.in_hand > 0) result.problems.push_back(fmt::format("{} has {} {} in hand after the stop", station.name, l.in_hand, l.what));
        if (!l.balances())
            result.problems.push_back(fmt::format("the ledger of {} does not balance: {} {} received, {} stored, {} rejected, {} in hand", station.name,
                                                  l.received, l.what, l.stored, rejected(l), l.in_hand));
    }
    check_neighbours(result);
}

}  // namespace weir::control
