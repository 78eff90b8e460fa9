// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace weir::control {
namespace {

std::uint64_t counter(const StationResult& station, const std::string& name) {
    const auto found = station.counters.find(name);
    return found == station.counters.end() || found->second < 0 ? 0 : static_cast<std::uint64_t>(found->second);
}

std::uint64_t rejected(const service::StationLedger& ledger) {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : ledger.rejected) sum += count;
    return sum;
}

std::uint64_t rejected_as(const StationResult& station, const std::string& reason) {
    const auto found = station.ledger.rejected.find(reason);
    return found == station.ledger.rejected.end() ? 0 : found->second;
}

/// Of all stations of a kind.
struct Sum {
    std::uint64_t stations = 0, received = 0, stored = 0;
    std::uint64_t not_wanted = 0;  // by level 2 or a filter
    std::uint64_t decided = 0;     // of supervisors
    bool whole = true;             // none of them was replaced, or is gone
};

Sum sum_of(const RunResult& result, StationKind kind) {
    Sum sum;
    for (const auto& station : result.stations) {
        if (station.kind != kind) continue;
        ++sum.stations;
        sum.received += station.ledger.received;
        sum.stored += station.ledger.stored;
        if (kind == StationKind::supervise) sum.decided += decisions_of(station.ledger, station.counters);
        sum.not_wanted += rejected_as(station, "level 2") + rejected_as(station, "not selected");
        sum.whole = sum.whole && station.restarts == 0 && !station.gone;
    }
    return sum;
}

constexpr Bytes ids_memory_max = 4_GiB;  // of the stations of a kind; each has a limit of its own

/// The union of the ids of all stations of a kind; nothing: one of them does not know.
std::optional<service::EventIds> ids_of(const RunResult& result, StationKind kind, const std::string& what) {
    service::EventIds all(ids_memory_max);
    for (const auto& station : result.stations) {
        if (station.kind != kind) continue;
        if (!station.events) return std::nullopt;
        const auto found = station.events->find(what);
        if (found == station.events->end() || !found->second.known()) return std::nullopt;
        all |= found->second;
    }
    if (!all.known()) return std::nullopt;
    return all;
}

/// Why filters or recorders did not take events, as the builders count it: "late, too_large".
std::string refusals_of(const RunResult& result) {
    std::set<std::string> reasons;
    for (const auto& station : result.stations) {
        if (station.kind != StationKind::build) continue;
        for (const auto& [reason, count] : station.ledger.rejected) {
            if (count > 0 && reason != "not_selected" && reason != "failed" && reason != "given up")
                reasons.insert(reason);
        }
    }
    return fmt::format("{}", fmt::join(reasons, ", "));
}

/// Recorded ids against accepted ones, in both directions.
std::optional<EventAccount> account_of(const RunResult& result) {
    const auto supervised = ids_of(result, StationKind::supervise, "accepted");
    const auto assigned = ids_of(result, StationKind::assign, "accepted");
    const auto recorded = ids_of(result, StationKind::record, "recorded");
    if ((!supervised && !assigned) || !recorded) return std::nullopt;
    const auto accepted = supervised.value_or(service::EventIds{}) | assigned.value_or(service::EventIds{});
    // The last answer of a DFM that is gone may be old: of its events others may have ended since.
    const bool dfm_gone =
        std::ranges::any_of(result.stations, [](const auto& s) { return s.kind == StationKind::assign && s.gone; });
    const auto of_dfm = [&](const char* what) {
        return dfm_gone ? std::nullopt : ids_of(result, StationKind::assign, what);
    };
    // Not what is in a file all the same: one filter did not want it, and another one kept it because its selection had
    // failed.
    const auto rejected_by_some = of_dfm("rejected");
    const auto rejected = rejected_by_some.value_or(service::EventIds{}) - *recorded;
    const auto refused = of_dfm("refused");
    const auto failed = of_dfm("failed");
    const auto unfinished = of_dfm("given up");

    EventAccount account;
    account.accepted = accepted.count();
    account.recorded = recorded->count();
    account.rejected = rejected.count();
    account.unaccepted = *recorded - accepted;
    service::EventIds seen(ids_memory_max);
    for (const auto& station : result.stations) {
        if (station.kind != StationKind::record) continue;
        const auto& here = station.events->at("recorded");
        account.twice |= seen & here;
        seen |= here;
    }
    auto missing = (accepted - *recorded) - rejected;
    if (!missing.known() || !rejected.known() || !account.twice.known() || !account.unaccepted.known())
        return std::nullopt;
    const auto lost = [&](const std::string& cause, const service::EventIds& ids) {
        if (auto those = missing & ids; !those.empty()) account.lost.push_back({cause, std::move(those)});
        missing = missing - ids;
    };
    const auto reasons = refusals_of(result);
    lost("refused by a filter or recorder" + (reasons.empty() ? "" : " (" + reasons + ")"),
         refused.value_or(service::EventIds{}));
    lost("could not be built", failed.value_or(service::EventIds{}));
    lost("abandoned at the stop", unfinished.value_or(service::EventIds{}));
    if (!missing.empty())
        account.lost.push_back({rejected_by_some ? "nobody knows what became of them"
                                                 : "the DFM died; filters may have rejected some of them",
                                std::move(missing)});
    return account;
}

/// Why there is no account although events were to be accounted for; nothing: recorders do not know ids.
std::optional<std::string> why_no_account(const RunResult& result) {
    const auto silent = [&](StationKind kind) {
        std::vector<std::string> names;
        for (const auto& station : result.stations) {
            if (station.kind == kind && !station.events) names.push_back(station.name);
        }
        return names;
    };
    const auto why = [](const std::vector<std::string>& names, std::string_view what, std::string_view next) {
        return fmt::format("what became of each event is not known, because {} did not report which events {}: {}",
                           fmt::join(names, " and "), what, next);
    };
    if (const auto recorders = silent(StationKind::record); !recorders.empty())
        return why(recorders, "have been recorded",
                   "its files and the catalogue show it, when it was started again (or weir recover was)");
    auto deciders = silent(StationKind::supervise);
    const auto assigners = silent(StationKind::assign);
    if (deciders.empty() || assigners.empty()) return std::nullopt;
    deciders.insert(deciders.end(), assigners.begin(), assigners.end());
    return why(deciders, "were accepted", "counts are compared");
}

constexpr std::size_t ids_in_line_max = 400;  // characters; two a range at least

std::string ids_in_line(const service::EventIds& ids) {
    auto text = ids.ranges(ids_in_line_max / 2);
    if (text.size() <= ids_in_line_max) return text;
    text.resize(text.rfind(',', ids_in_line_max));
    return text + ",... (more of them: table run_parameters of the recorders' catalogues)";
}

/// "1 event is", "2 events are"
std::string are(std::uint64_t count, std::string_view what) {
    return count == 1 ? fmt::format("1 {} is", what) : fmt::format("{} {}s are", count, what);
}

void report_account(RunResult& result) {
    const auto& account = *result.account;
    for (const auto& [cause, events] : account.lost)
        result.problems.push_back(
            fmt::format("{} in no file: {}: {}", are(events.count(), "accepted event"), cause, ids_in_line(events)));
    if (!account.twice.empty())
        result.problems.push_back(fmt::format("{} in the files of two recorders: {}",
                                              are(account.twice.count(), "event"), ids_in_line(account.twice)));
    if (!account.unaccepted.empty())
        result.problems.push_back(
            fmt::format("{} in files and {} never accepted: {}", are(account.unaccepted.count(), "event"),
                        account.unaccepted.count() == 1 ? "was" : "were", ids_in_line(account.unaccepted)));
}

/// What one kind of station gave, the next one must have. A process that died took its counts with it, so that nothing
/// is compared of its kind.
void check_neighbours(RunResult& result) {
    const auto supervise = sum_of(result, StationKind::supervise);
    const auto assign = sum_of(result, StationKind::assign);
    const auto build = sum_of(result, StationKind::build);
    const auto record = sum_of(result, StationKind::record);
    const auto add = [&](std::string text) { result.problems.push_back(std::move(text)); };
    // Triggers that it refused, or had in hand at the end, did not become events.
    const auto decided = supervise.decided;
    if (supervise.stations > 0 && assign.stations > 0 && supervise.whole && assign.whole && decided != assign.received)
        add(fmt::format("the supervisor decided {} events, and the DFM received {}", decided, assign.received));
    if (assign.stations > 0 && build.stations > 0 && assign.whole && build.whole && build.stored < assign.stored)
        add(fmt::format("the DFM counts {} events as stored, and the builders {}", assign.stored, build.stored));
    if (!result.account && assign.stations > 0 && record.stations > 0 && record.whole && record.stored < assign.stored)
        add(fmt::format("the DFM counts {} events as stored, and the recorders hold {} copies", assign.stored,
                        record.stored));
    const bool events_known = std::ranges::all_of(result.stations, [](const auto& s) {
        return s.kind != StationKind::record || s.counters.contains("events_recorded");
    });
    // Of those that the DFM gave up, or that failed or were refused on one way, builders and filters may have brought
    // some to a file.
    const auto recordable = assign.received - std::min(assign.received, assign.not_wanted);
    if (!result.account && assign.stations > 0 && record.stations > 0 && assign.whole && events_known &&
        result.events.recorded > recordable)
        add(
            fmt::format("the DFM counts {} events that may be in files, and the recorders hold {}: {} are in the files "
                        "of two recorders, or came from elsewhere",
                        recordable, result.events.recorded, result.events.recorded - recordable));
}

/// What the recorders with a hand-off have closed, their catalogues must have: nothing else is handed over. They may
/// have more: files that were recovered on a disk that came back.
void check_files(RunResult& result) {
    if (!result.hand_off) return;
    std::uint64_t files = 0;
    for (const auto& station : result.stations) {
        if (station.kind != StationKind::record || !station.handed_over) continue;
        if (station.restarts > 0 || station.gone) return;  // its process took its part of the count with it
        files += counter(station, "files");
    }
    if (result.hand_off->closed >= files) return;
    result.problems.push_back(
        fmt::format("the recorders closed {} files, and their catalogues have {}: the others are not handed over; weir "
                    "recover enters them",
                    files, result.hand_off->closed));
}

}  // namespace

std::string HandOffAccount::later_text() const {
    const auto later = left - std::min(left, quarantined + without_sum);
    if (later == 0) return {};
    return fmt::format("{} of {} file{} {} not handed over yet: {}{}", later, closed, closed == 1 ? "" : "s",
                       later == 1 ? "is" : "are", fmt::join(names, ", "), later > names.size() ? ", ..." : "");
}

std::string HandOffAccount::kept_text() const {
    const auto kept = quarantined + without_sum;
    if (kept == 0) return {};
    return fmt::format("{} of {} file{} {} here{}{}: {}{}", kept, closed, closed == 1 ? "" : "s",
                       kept == 1 ? "is not handed over and stays" : "are not handed over and stay",
                       quarantined > 0 ? fmt::format(", {} quarantined", quarantined) : "",
                       without_sum > 0 ? fmt::format(", {} without a sum", without_sum) : "",
                       fmt::join(names_kept, ", "), kept > names_kept.size() ? ", ..." : "");
}

RunEvents events_of(const std::vector<StationResult>& stations) {
    RunEvents events;
    for (const auto& station : stations) {
        switch (station.kind) {
            case StationKind::supervise:
                events.triggers +=
                    station.ledger.received - std::min(station.ledger.received, refused_of(station.ledger));
                events.accepted += station.ledger.stored;
                events.rejected += rejected_as(station, "level 2");
                break;
            case StationKind::assign:
                events.built +=
                    station.ledger.stored + rejected_as(station, "not selected") + rejected_as(station, "refused");
                events.incomplete += counter(station, "incomplete");
                break;
            case StationKind::record:
                events.recorded += station.counters.contains("events_recorded") ? counter(station, "events_recorded")
                                                                                : station.ledger.stored;
                break;
            default: break;
        }
    }
    return events;
}

RunEvents at_least(const RunEvents& least, const RunEvents& events) {
    return {std::max(least.triggers, events.triggers),     std::max(least.accepted, events.accepted),
            std::max(least.rejected, events.rejected),     std::max(least.built, events.built),
            std::max(least.incomplete, events.incomplete), std::max(least.recorded, events.recorded)};
}

SelectionFaults selection_faults_of(const std::vector<StationResult>& stations) {
    SelectionFaults faults;
    std::uint64_t by_units = 0, by_supervisors = 0;
    for (const auto& station : stations) {
        if (station.kind == StationKind::supervise) by_supervisors += counter(station, "forced");
        if (station.kind == StationKind::select)
            by_units += counter(station, "threw") + counter(station, "timed_out") + counter(station, "crashed");
        if (station.kind != StationKind::select && station.kind != StationKind::filter) continue;
        faults.threw += counter(station, "threw");
        faults.timed_out += counter(station, "timed_out");
        faults.crashed += counter(station, "crashed");
        faults.hanging += counter(station, "hanging");
    }
    faults.unjudged = by_supervisors - std::min(by_supervisors, by_units);
    return faults;
}

void balance(RunResult& result) {
    result.events = events_of(result.stations);
    result.selection = selection_faults_of(result.stations);
    result.triggers = triggers_of(result.stations);
    result.account = account_of(result);
    if (result.account) {
        result.events.recorded = result.account->recorded;
        report_account(result);
    } else if (result.events.triggers > 0 || result.events.recorded > 0) {
        if (auto why = why_no_account(result)) result.problems.push_back(std::move(*why));
    }
    result.files = result.bytes_stored = 0;
    for (const auto& station : result.stations) {
        if (station.kind == StationKind::record) {
            result.files += counter(station, "files");
            result.bytes_stored += counter(station, "bytes_stored");
        }
        if (station.kind == StationKind::monitor) continue;  // it sees copies of some events
        const auto& l = station.ledger;
        for (const auto* lost : {"refused", "failed", "given up"}) {
            if (const auto events = rejected_as(station, lost);
                events > 0 && station.kind == StationKind::assign && !result.account)
                result.problems.push_back(fmt::format("{} {} were lost: {} ({})", events, l.what, lost, station.name));
        }
        if (station.gone && result.account) continue;               // the account knows what became of its events
        if (l.in_hand > 0 && station.kind != StationKind::handoff)  // they go on between runs
            result.problems.push_back(
                fmt::format("{} has {} {} in hand after the stop", station.name, l.in_hand, l.what));
        if (!l.balances())
            result.problems.push_back(
                fmt::format("the ledger of {} does not balance: {} {} received, {} stored, {} rejected, {} in hand",
                            station.name, l.received, l.what, l.stored, rejected(l), l.in_hand));
    }
    check_neighbours(result);
    check_files(result);
}

}  // namespace weir::control
