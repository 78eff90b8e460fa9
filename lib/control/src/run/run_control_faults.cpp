// SPDX-License-Identifier: Apache-2.0
// What run control does when a station fails. Builders, selection units and filters are replaced: their events are
// reassigned, or come again. A recorder comes back and recovers; a readout comes back, and what it missed becomes
// empty ROBs. Without supervisor or DFM it is not known which events there are: the run stops. So it is until a stop
// has drained the run; what fails after that costs no event, and only a recorder is started again, to close its files
// and report what they hold. The hand-off has nothing that is not in the catalogue: it is started again, and no run
// ends for its sake or is bad.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "run/run_control_state.hpp"
#include "weir/base/suggest.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto triggerless_max = 5s;  // a run that ends by itself does so soon after its last trigger came

/// "warning ef-1: selection threw: ..." without its severity, which the report has.
std::string without_severity(const service::StationReport::LatchedAlarm& alarm) {
    const auto begin = alarm.severity + " ";
    return alarm.text.starts_with(begin) ? alarm.text.substr(begin.size()) : alarm.text;
}

bool ends_the_run(StationKind kind) noexcept { return kind == StationKind::supervise || kind == StationKind::assign; }

}  // namespace

void RunControl::State::problem(const std::string& what) {
    problems_.push_back(what);
    report(Severity::error, what);
}

void RunControl::State::problem_of(const StationControl& station, const std::string& what) {
    if (dispensable(station.entry().kind)) return report(Severity::warning, what);
    problem(what);
}

/// It died too often, and a run needs it.
bool RunControl::State::misses(const StationControl& station) const {
    return not_replaced_.contains(station.entry().name) && !dispensable(station.entry().kind);
}

void RunControl::State::report_new_alarms(const StationControl& station) {
    auto& reported = alarms_reported_[station.entry().name];
    std::set<std::string> latched;
    for (const auto& alarm : station.report().alarms) {
        if (alarm.acknowledged_by) continue;
        latched.insert(alarm.name);
        if (!reported.contains(alarm.name))
            report(parse_severity(alarm.severity).value_or(Severity::warning), without_severity(alarm));
    }
    reported = std::move(latched);
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
    informed_.erase(name);
    if (taking_over_) {
        report(Severity::warning, what);
        if (!trouble.died) station.kill();
        return;  // taken_over() takes care
    }
    switch (state) {
        case PartitionState::down:
        case PartitionState::ending: return;
        case PartitionState::coming_up:
            if (!dispensable(station.entry().kind)) {
                failure_ = what;
                report(Severity::error, what);
                return end_all();
            }
            [[fallthrough]];
        case PartitionState::ready:
            report(Severity::error, what);
            if (!trouble.died && (!trouble.answered || dispensable(station.entry().kind))) station.kill();
            return;  // replace_what_is_gone() takes care
        case PartitionState::starting:
            if (assembling()) {
                report(Severity::error, what);
                if (!trouble.died) station.kill();
                return;
            }
            // The supervisor may have begun already: what has started and dies is replaced as in a run.
            if (dispensable(station.entry().kind) || (station.started() && !ends_the_run(station.entry().kind)))
                return trouble_in_run(station, trouble, what);
            problem(what);
            if (!trouble.died && !trouble.answered) station.end(now_, 1s);
            return stop(what, Drain::bounded);
        case PartitionState::running:
        case PartitionState::paused: return trouble_in_run(station, trouble, what);
        case PartitionState::stopping:
            return draining() ? trouble_in_drain(station, trouble, what) : trouble_in_stop(station, trouble, what);
    }
}

/// It is alone, and may only be slow: what it was called for is called once more. Its silence has a limit of its own.
void RunControl::State::call_again(StationControl& station, const std::string& what) {
    report(Severity::warning, what);
    const bool pauses =
        station.entry().kind == StationKind::supervise && (state == PartitionState::paused || draining());
    if (pauses && after(station.planned(), service::Transition::pause))
        station.add({StationStep::Kind::transition, service::Transition::pause, options_.pause_deadline});
    if (state == PartitionState::running && after(station.planned(), service::Transition::resume))
        station.add({StationStep::Kind::transition, service::Transition::resume, options_.pause_deadline});
    station.add({StationStep::Kind::change_peers, service::Transition::connect, options_.connect_deadline});
}

std::string RunControl::State::too_often(const std::string& what) const {
    return fmt::format("{}, {} times within {}", what, options_.restarts_max + 1, to_string(options_.restarts_window));
}

void RunControl::State::trouble_in_run(StationControl& station, const StationTrouble& trouble,
                                       const std::string& what) {
    const auto kind = station.entry().kind;
    const bool runs =
        station.state() == service::StationState::running || station.state() == service::StationState::paused;
    if (!trouble.died && trouble.answered && runs)
        return report(Severity::warning, what);  // it refused a change, and runs
    if (!trouble.died && !trouble.answered && ends_the_run(kind)) return call_again(station, what);
    if (!station.gone()) station.kill();
    if (ends_the_run(kind)) {
        problem(what);
        head_lost_ = true;
        stop(what, Drain::complete);                     // what the other one of the two still knows is not abandoned
        if (kind == StationKind::assign) bound_drain();  // it is not known any more how much that is
        return;
    }
    if (replace(station, what)) return;
    const auto often = too_often(what);
    problem_of(station, often);
    if (!dispensable(kind)) stop(often, Drain::bounded);
}

void RunControl::State::trouble_in_drain(StationControl& station, const StationTrouble& trouble,
                                         const std::string& what) {
    const auto kind = station.entry().kind;
    const bool runs =
        station.state() == service::StationState::running || station.state() == service::StationState::paused;
    if (!trouble.died && trouble.answered && runs) return report(Severity::warning, what);
    if (!trouble.died && !trouble.answered && ends_the_run(kind)) return call_again(station, what);
    if (!station.gone()) station.kill();
    if (ends_the_run(kind)) {
        problem(what);
        head_lost_ = true;
        if (kind == StationKind::assign) bound_drain();
        return;
    }
    if (replace(station, what)) return;
    problem_of(station, too_often(what));
    if (!dispensable(kind)) bound_stop();
}

void RunControl::State::trouble_in_stop(StationControl& station, const StationTrouble& trouble,
                                        const std::string& what) {
    if (!trouble.died) {
        if (!trouble.answered && close_again(station, what)) return;
        problem_of(station, what);
        if (!trouble.answered) station.end(now_, 1s);
        return;
    }
    const auto kind = station.entry().kind;
    const bool had_stopped = stop_rank(kind) < rank_of_front();
    const bool wanted = kind == StationKind::record && station.events() == nullptr;  // else it has reported all
    if (!wanted || !replace(station, what))
        return problem_of(station, had_stopped ? what + " after it had stopped" : what);
    if (stop_rank(kind) <= rank_of_front()) stop_again(station);
}

bool RunControl::State::replace(StationControl& station, const std::string& what) {
    const auto& name = station.entry().name;
    auto& recent = station.restarted;
    while (!recent.empty() && now_ - recent.front() > options_.restarts_window) recent.pop_front();
    if (recent.size() >= options_.restarts_max) return false;
    recent.push_back(now_);
    ++station.restarts;
    report_({.severity = Severity::error,
             .what = what,
             .advice = "it is started again",
             .alarm = fmt::format("{} died", name)});
    note_change({.what = "replace", .subject = name, .who = "run control", .why = what});
    start_again(station);
    return true;
}

void RunControl::State::start_again(StationControl& station) {
    const auto& name = station.entry().name;
    replacing_.insert(name);
    informed_.erase(name);
    const bool run = run_active() && !assembling();
    for (const auto& step : steps_of_replacement(options_, run)) station.add(step);
}

/// A selection or front-end that does not come back keeps its thread, and its events, for ever: another process gets
/// them.
void RunControl::State::replace_what_hangs() {
    if (state != PartitionState::running && state != PartitionState::paused && !draining()) return;
    for (const auto& station : stations_) {
        const auto since = station->hanging_since();
        if (!since || now_ - *since < options_.hanging_after || !station->up() ||
            replacing_.contains(station->entry().name))
            continue;
        station->kill();
        const auto* what = station->entry().kind == StationKind::readout ? "front-end" : "selection";
        trouble_of(*station,
                   {true, false,
                    fmt::format("had a {} that hung for {} and was killed", what, to_string(options_.hanging_after))});
    }
}

Result<> RunControl::State::replace_by_command(const std::string& name, const std::string& who) {
    const auto found =
        std::ranges::find_if(stations_, [&](const auto& station) { return station->entry().name == name; });
    if (found == stations_.end()) {
        std::vector<std::string> names;
        for (const auto& station : stations_) names.push_back(station->entry().name);
        return fail(Errc::usage, fmt::format("there is no station \"{}\"{}; there are {}", name,
                                             did_you_mean(name, names), fmt::join(names, ", ")));
    }
    auto& station = **found;
    const bool run = state == PartitionState::running || state == PartitionState::paused || draining();
    if (state != PartitionState::ready && !run)
        return fail(Errc::refused,
                    fmt::format("cannot replace {}: the partition is {}", name, weir::control::name(state)));
    if (replacing_.contains(name)) return fail(Errc::refused, fmt::format("{} is being replaced already", name));
    if (run && ends_the_run(station.entry().kind))
        return fail(Errc::refused, fmt::format("cannot replace {}: only it knows which events there are, and the run "
                                               "would lose them; weir run stop comes first",
                                               name));
    not_replaced_.erase(name);
    station.restarted.clear();
    station.kill();
    ++station.restarts;
    report(Severity::information,
           fmt::format("{} station {} is replaced by command", weir::name(station.entry().kind), name));
    note_change({.what = "replace", .subject = name, .who = who.empty() ? "command" : who});
    start_again(station);
    return {};
}

/// Without one, nothing happens any more, and nothing else would say why.
void RunControl::State::look_at_trigger_unit() {
    const auto* supervisor = single(StationKind::supervise);
    if (supervisor == nullptr || !supervisor->up() || !supervisor->reported() || supervisor->report().run != run_)
        return;
    const auto& status = supervisor->status();
    const auto connections = status.counters.find("input_connections");
    if (connections == status.counters.end() || status.finished) return;
    if (connections->second > 0) {
        if (trigger_unit_ == TriggerUnit::gone)
            report(Severity::information, "a program that brings triggers is connected again");
        trigger_unit_ = TriggerUnit::connected;
        trigger_unit_missed_.reset();
        return;
    }
    // All that the run wants have come, or some wait for room: their unit may go.
    for (const char* name : {"triggers_complete", "input_blocks_waiting"}) {
        const auto counter = status.counters.find(name);
        if (counter != status.counters.end() && counter->second > 0) {
            trigger_unit_missed_.reset();
            return;
        }
    }
    if (!trigger_unit_missed_) trigger_unit_missed_ = now_;
    if (trigger_unit_ == TriggerUnit::connected && now_ - *trigger_unit_missed_ >= triggerless_max) {
        trigger_unit_ = TriggerUnit::gone;
        report_({.severity = Severity::warning,
                 .what = fmt::format("no program that brings triggers is connected any more; {} triggers were taken",
                                     events().triggers),
                 .where = supervisor->entry().name,
                 .advice =
                     "it goes on when one comes that continues their level-1 ids; to begin anew, weir run stop, then "
                     "start a run and its senders"});
    }
}

void RunControl::State::look_after_replaced() {
    for (const auto& station : stations_) {
        const auto& name = station->entry().name;
        if (!replacing_.contains(name) || !station->introduced()) continue;
        // The others learn its address while it connects: its connect may wait for their messages.
        if (!informed_.contains(name)) inform_others(*station);
        informed_.insert(name);
        if (!station->idle()) continue;
        replacing_.erase(name);
        informed_.erase(name);
        report(Severity::information, fmt::format("{} is back", name));
    }
}

void RunControl::State::inform_others(const StationControl& station) {
    if (dispensable(station.entry().kind)) return;  // no other station asks it
    for (const auto& other : stations_) {
        const bool knows_peers =
            other->planned() != service::StationState::initial && other->planned() != service::StationState::configured;
        const bool runs =
            other->state() == service::StationState::running || other->state() == service::StationState::paused;
        const bool stops = runs && other->planned() == service::StationState::connected;
        if (other.get() != &station && other->up() && !other->ending() && knows_peers &&
            !stops)  // what stops needs no new peer
            other->add({StationStep::Kind::change_peers, service::Transition::connect, options_.connect_deadline});
    }
}

void RunControl::State::replace_what_is_gone() {
    if (state != PartitionState::ready && !assembling()) return;
    for (const auto& station : stations_) {
        const auto& name = station->entry().name;
        if (!station->gone() || !station->idle() || not_replaced_.contains(name)) continue;
        if (replace(*station, fmt::format("{} is gone", name))) continue;
        not_replaced_.insert(name);
        report(Severity::error, fmt::format("{} died too often and is not started again", name));
    }
}

}  // namespace weir::control
