// SPDX-License-Identifier: Apache-2.0
// What run control does when a station fails. Builders, selection units and filters are replaced: their events are given
// to others, or come again. A recorder comes back and recovers; a readout comes back, and what it missed becomes empty
// ROBs. Without supervisor or DFM nobody knows which events there are: the run stops.
#include <fmt/format.h>

#include "run_control_state.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

/// "warning ef-1: selection threw: ..." without its severity, which the report has.
std::string without_severity(const StationReport::LatchedAlarm& alarm) {
    const auto begin = alarm.severity + " ";
    return alarm.text.starts_with(begin) ? alarm.text.substr(begin.size()) : alarm.text;
}

Severity severity_of(const StationReport::LatchedAlarm& alarm) {
    for (const auto severity : {Severity::information, Severity::error, Severity::fatal}) {
        if (alarm.severity == weir::name(severity)) return severity;
    }
    return Severity::warning;
}

bool ends_the_run(StationKind kind) noexcept { return kind == StationKind::supervise || kind == StationKind::assign; }

}  // namespace

void RunControl::State::problem(const std::string& what) {
    problems_.push_back(what);
    say(Severity::error, what);
}

void RunControl::State::say_new_alarms(const StationControl& station) {
    auto& said = alarms_said_[station.entry().name];
    std::set<std::string> latched;
    for (const auto& alarm : station.report().alarms) {
        if (alarm.acknowledged_by) continue;
        latched.insert(alarm.name);
        if (!said.contains(alarm.name)) say(severity_of(alarm), without_severity(alarm));
    }
    said = std::move(latched);
}

std::vector<std::string> RunControl::State::latched_alarms() const {
    std::vector<std::string> all;
    for (const auto& station : stations_) {
        for (const auto& alarm : station->report().alarms) {
            if (!alarm.acknowledged_by) all.push_back(without_severity(alarm));
        }
    }
    return all;
}

void RunControl::State::trouble_of(StationControl& station, const StationTrouble& trouble) {
    const auto& name = station.entry().name;
    const auto what = fmt::format("{} station {} {}", weir::name(station.entry().kind), name, trouble.what);
    replacing_.erase(name);
    told_.erase(name);
    switch (state) {
        case PartitionState::down:
        case PartitionState::ending: return;
        case PartitionState::coming_up:
            failure_ = what;
            say(Severity::error, what);
            return end_all();
        case PartitionState::ready:
            say(Severity::error, what);
            if (!trouble.died && !trouble.answered) station.kill();
            return;  // replace_what_is_gone() takes care
        case PartitionState::starting:
            problem(what);
            if (!trouble.died && !trouble.answered) station.end(now_, 1s);
            return stop(what);
        case PartitionState::running:
        case PartitionState::paused: return trouble_in_run(station, trouble, what);
        case PartitionState::stopping: return trouble_in_stop(station, trouble, what);
    }
}

void RunControl::State::trouble_in_run(StationControl& station, const StationTrouble& trouble, const std::string& what) {
    const auto kind = station.entry().kind;
    if (!trouble.died && trouble.answered && station.state() == StationState::running) return say(Severity::warning, what);  // it refused a change, and runs
    if (!station.gone()) station.kill();
    if (ends_the_run(kind)) {
        problem(what);
        return stop(what);
    }
    if (replace(station, what)) return;
    problem(fmt::format("{}, {} times within {}", what, options_.restarts_max + 1, to_string(options_.restarts_window)));
    stop(problems_.back());
}

void RunControl::State::trouble_in_stop(StationControl& station, const StationTrouble& trouble, const std::string& what) {
    const auto kind = station.entry().kind;
    const bool collecting = !phases_.empty() && !phases_.front().kind;
    const auto present = phases_.empty() || collecting ? stop_rank(StationKind::readout) + 1 : stop_rank(*phases_.front().kind);
    const bool has_stopped = stop_rank(kind) < present;
    if (!trouble.died) {
        problem(what);
        if (!trouble.answered) station.end(now_, 1s);
        return;
    }
    if (has_stopped) return problem(fmt::format("{} after it had stopped", what));
    // Who still waits for events of the others is needed to the end; a recorder has to close its files.
    const bool needed = !ends_the_run(kind) && (stop_rank(kind) > present || kind == StationKind::record);
    if (!needed) return problem(what);
    if (!replace(station, what)) return problem(what);
    if (stop_rank(kind) == present) station.add({StationStep::Kind::transition, Transition::stop, options_.stop_deadline});
}

bool RunControl::State::replace(StationControl& station, const std::string& what) {
    const auto& name = station.entry().name;
    auto& recent = station.restarted;
    while (!recent.empty() && now_ - recent.front() > options_.restarts_window) recent.pop_front();
    if (recent.size() >= options_.restarts_max) return false;
    recent.push_back(now_);
    ++station.restarts;
    Report report;
    report.severity = Severity::error;
    report.what = what;
    report.advice = "it is started again";
    reports_.raise(fmt::format("{} died", name), std::move(report));
    replacing_.insert(name);
    told_.erase(name);
    for (const auto& step : steps_of_replacement(options_, run_active())) station.add(step);
    return true;
}

void RunControl::State::look_after_replaced() {
    for (const auto& station : stations_) {
        const auto& name = station->entry().name;
        if (!replacing_.contains(name) || !station->introduced()) continue;
        // The others learn its address while it connects: it may want to hear from them before it is content.
        if (!told_.contains(name)) tell_others(*station);
        told_.insert(name);
        if (!station->idle()) continue;
        replacing_.erase(name);
        told_.erase(name);
        say(Severity::information, fmt::format("{} is back", name));
    }
}

void RunControl::State::tell_others(const StationControl& station) {
    for (const auto& other : stations_) {
        const bool knows_peers = other->planned() != StationState::initial && other->planned() != StationState::configured;
        if (other.get() != &station && other->up() && !other->ending() && knows_peers)
            other->add({StationStep::Kind::change_peers, Transition::connect, options_.connect_deadline});
    }
}

void RunControl::State::replace_what_is_gone() {
    if (state != PartitionState::ready) return;
    for (const auto& station : stations_) {
        const auto& name = station->entry().name;
        if (!station->gone() || !station->idle() || given_up_.contains(name)) continue;
        if (replace(*station, fmt::format("{} is gone", name))) continue;
        given_up_.insert(name);
        say(Severity::error, fmt::format("{} died too often and is not started again", name));
    }
}

}  // namespace weir::control
