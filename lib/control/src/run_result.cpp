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
    std::uint64_t stations = 0, received = 0, stored = 0, rejected = 0;
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

std::uint64_t rejected_as(const StationResult& station, const std::string& reason) {
    const auto found = station.ledger.rejected.find(reason);
    return found == station.ledger.rejected.end() ? 0 : found->second;
}

/// What one kind of station gave, the next one must have. A process that died took its counts with it, so that nothing can
/// be said of its kind.
void check_neighbours(RunResult& result) {
    const auto supervise = sum_of(result, StationKind::supervise);
    const auto assign = sum_of(result, StationKind::assign);
    const auto build = sum_of(result, StationKind::build);
    const auto record = sum_of(result, StationKind::record);
    const auto say = [&](std::string text) { result.problems.push_back(std::move(text)); };
    if (supervise.stations > 0 && assign.stations > 0 && supervise.whole && assign.whole && supervise.received != assign.received)
        say(fmt::format("the supervisor decided {} events, and the DFM heard of {}", supervise.received, assign.received));
    if (assign.stations > 0 && build.stations > 0 && assign.whole && build.whole && build.stored < assign.stored)
        say(fmt::format("the DFM counts {} events as stored, and the builders {}", assign.stored, build.stored));
    if (assign.stations > 0 && record.stations > 0 && record.whole && record.stored < assign.stored)
        say(fmt::format("the DFM counts {} events as stored, and the recorders hold {} copies", assign.stored, record.stored));
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
                events.built += station.ledger.stored + rejected_as(station, "not selected");
                events.incomplete += counter(station, "incomplete");
                break;
            case StationKind::record: events.recorded += station.ledger.stored; break;
            default: break;
        }
    }
    return events;
}

SelectionFaults selection_faults_of(const std::vector<StationResult>& stations) {
    SelectionFaults faults;
    for (const auto& station : stations) {
        if (station.kind != StationKind::select && station.kind != StationKind::filter) continue;
        faults.threw += counter(station, "threw");
        faults.timed_out += counter(station, "timed_out");
        faults.crashed += counter(station, "crashed");
        faults.hanging += counter(station, "hanging");
    }
    return faults;
}

void balance(RunResult& result) {
    result.events = events_of(result.stations);
    result.selection = selection_faults_of(result.stations);
    result.files = result.bytes_stored = 0;
    for (const auto& station : result.stations) {
        if (station.kind == StationKind::record) {
            result.files += counter(station, "files");
            result.bytes_stored += counter(station, "bytes_stored");
        }
        const auto& l = station.ledger;
        for (const auto* lost : {"failed", "given up"}) {
            if (const auto events = rejected_as(station, lost); events > 0 && station.kind == StationKind::assign)
                result.problems.push_back(fmt::format("{} {} were lost: {} ({})", events, l.what, lost, station.name));
        }
        if (l.in_hand > 0) result.problems.push_back(fmt::format("{} has {} {} in hand after the stop", station.name, l.in_hand, l.what));
        if (!l.balances())
            result.problems.push_back(fmt::format("the ledger of {} does not balance: {} {} received, {} stored, {} rejected, {} in hand", station.name,
                                                  l.received, l.what, l.stored, rejected(l), l.in_hand));
    }
    check_neighbours(result);
}

}  // namespace weir::control
