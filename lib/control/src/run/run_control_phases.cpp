// SPDX-License-Identifier: Apache-2.0
// What run control has still to do, phase by phase, and how long it waits for each station (run_phases.hpp has the
// order).
#include <fmt/format.h>

#include <algorithm>

#include "run/run_control_state.hpp"

namespace weir::control {

void RunControl::State::set_phases(const std::vector<Phase>& phases) {
    phases_.assign(phases.begin(), phases.end());
    begun_ = false;
}

void RunControl::State::advance() {
    while (!phases_.empty()) {
        if (!begun_) begin(phases_.front());
        begun_ = true;
        if (waits(phases_.front())) return;
        const auto done = phases_.front();
        phases_.pop_front();
        begun_ = false;
        if (done.until && now_ > *done.until) put_off(now_ - *done.until);
        if (done.introduces) introduce();
        if (done.what == Phase::What::drain) drain_over();
        if (phases_.empty()) return phases_done();
    }
    if (state == PartitionState::ending && std::ranges::all_of(stations_, &StationControl::gone))
        state = PartitionState::down;
}

void RunControl::State::begin(const Phase& phase) {
    if (phase.what == Phase::What::drain) {
        drain_begun_ = now_;
        dfm_gone_since_.reset();
        disagreement_.reset();
    }
    if (phase.what != Phase::What::step) return;
    for (const auto& station : stations_) {
        if (phase.kind && station->entry().kind != *phase.kind) continue;
        switch (phase.step.kind) {
            case StationStep::Kind::launch:
                if (!station->gone()) continue;
                break;
            case StationStep::Kind::transition:
                if (!after(station->planned(), phase.step.transition) || station->ending()) continue;
                if (station->gone() && station->idle()) continue;
                break;
            default:
                if (!station->up() || station->ending()) continue;
        }
        auto step = phase.step;
        if (phase.until)
            step.limit = std::max(std::chrono::duration_cast<std::chrono::milliseconds>(*phase.until - now_),
                                  std::chrono::milliseconds{1});
        step.grace = phase.patience;
        station->add(step);
    }
}

bool RunControl::State::waits(const Phase& phase) {
    if (phase.what == Phase::What::look) return waits_for_look(phase);
    if (phase.what == Phase::What::assemble) return waits_for_assembly();
    if (phase.what == Phase::What::drain) return waits_for_drain();
    if (draining() && drain_until_ && now_ >= *drain_until_) return false;  // the supervisor has not paused in time
    bool waiting = false;
    const bool starts = phase.step.transition == service::Transition::start;
    for (const auto& station : stations_) {
        if ((phase.kind && station->entry().kind != *phase.kind) || station->idle()) continue;
        if (starts && dispensable(station->entry().kind)) continue;
        if (phase.until && now_ >= *phase.until + phase.patience) {
            const auto late = fmt::format("{} did not answer {} in time", station->entry().name, phase.step.text());
            if (phase.what == Phase::What::step && close_again(*station, late)) return true;
            problem_of(*station, fmt::format("{} and is ended{}", late,
                                             station->entry().kind == StationKind::record
                                                 ? "; weir recover, or its next start, closes its files"
                                                 : ""));
            station->end(now_, std::chrono::seconds{1});
            replacing_.erase(station->entry().name);
        } else {
            waiting = true;
        }
    }
    return waiting;
}

/// A recorder that does not answer at its stop has files that are open: it is killed, and another process closes them.
/// Once, and not beyond the deadline of an operator.
bool RunControl::State::close_again(StationControl& station, const std::string& late) {
    if (stop_until_ || station.entry().kind != StationKind::record ||
        !closing_again_.insert(station.entry().name).second)
        return false;
    const auto what = late + " and is killed";
    station.kill();
    problem(what);
    if (!replace(station, what)) return false;
    stop_again(station);
    return true;
}

/// It has the time of a whole stop, and so has the stop where no operator gave it a deadline. Where the other recorders
/// have reported already which events they hold, or are about to, it reports them afterwards.
void RunControl::State::stop_again(StationControl& station) {
    station.add({StationStep::Kind::transition, service::Transition::stop, options_.stop_deadline});
    if (rank_of_front() > stop_rank(StationKind::record))
        station.add({StationStep::Kind::report, service::Transition::stop, options_.stop_deadline});
    put_off(options_.stop_deadline);
}

/// Of the stations that stop now; behind all of them when reports are collected.
std::size_t RunControl::State::rank_of_front() const noexcept {
    return phases_.empty() || !phases_.front().kind ? stop_rank(StationKind::monitor) + 1
                                                    : stop_rank(*phases_.front().kind);
}

/// Those that come later in a stop have their shares all the same, unless an operator gave the whole a deadline.
void RunControl::State::put_off(SteadyTime::duration time) {
    if (stop_until_) return;
    for (auto& phase : phases_) {
        if (phase.until) *phase.until += time;
    }
}

/// Every station is connected; those that failed after the last run are started again.
bool RunControl::State::waits_for_assembly() {
    for (const auto& station : stations_) {
        if (!misses(*station)) continue;
        problem(fmt::format("{} is not there: it died too often; weir run replace {} tries once more",
                            station->entry().name, station->entry().name));
        stop(problems_.back(), Drain::bounded);
        return true;
    }
    return !std::ranges::all_of(stations_, [&](const auto& s) {
        return dispensable(s->entry().kind) ||
               (s->up() && s->idle() && !s->ending() && s->state() == service::StationState::connected);
    });
}

bool RunControl::State::assembling() const noexcept {
    return state == PartitionState::starting && !phases_.empty() && phases_.front().what == Phase::What::assemble;
}

void RunControl::State::introduce() {
    const auto fit = check_peers(partition_, peers_);
    if (fit) return;
    failure_ = fit.error().message();
    report(Severity::error, *failure_);
    end_all();
}

void RunControl::State::phases_done() {
    switch (state) {
        case PartitionState::coming_up:
            if (taking_over_) return taken_over();
            state = PartitionState::ready;
            report(Severity::information,
                   fmt::format("partition {} is ready: {} stations", partition_.name, stations_.size()));
            break;
        case PartitionState::starting: {
            state = PartitionState::running;
            run_begin_ = seen_;
            auto parameters = changes_.parameters;
            parameters["partition"] = partition_.name;
            if (auto kept = keeper_.keep(run_, parameters); !kept)
                report_(report_of(Severity::warning, "run parameters are not in the catalogue", kept.error()));
            report(Severity::information, fmt::format("run {} runs", number(run_)));
            break;
        }
        case PartitionState::stopping: return end_of_run();
        case PartitionState::running:
        case PartitionState::paused: break;  // a pause or its end: the state was set when it began
        default: break;
    }
}

}  // namespace weir::control
