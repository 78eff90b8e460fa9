// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_control.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "run_control_state.hpp"

namespace weir::control {

const char* name(PartitionState state) noexcept {
    switch (state) {
        case PartitionState::down: return "down";
        case PartitionState::coming_up: return "coming up";
        case PartitionState::ready: return "ready";
        case PartitionState::starting: return "starting";
        case PartitionState::running: return "running";
        case PartitionState::paused: return "paused";
        case PartitionState::stopping: return "stopping";
        case PartitionState::ending: return "ending";
    }
    return "?";
}

RunControl::State::State(const Partition& partition, const RunControlOptions& options, const MakeLaunch& launch, Launcher& launcher,
                         StationLinks& links, RunKeeper& keeper, Reports& reports, LogBook& log, const Clock& clock)
    : partition_(partition), options_(options), keeper_(keeper), reports_(reports), log_(log), clock_(clock), now_(clock.now()) {
    for (const auto& entry : partition.stations)
        stations_.push_back(std::make_unique<StationControl>(entry, launch(entry), StationTimes{options.poll, options.silent_after}, launcher, links));
}

void RunControl::State::step() {
    now_ = clock_.now();
    const auto present = peers();
    for (const auto& station : stations_) {
        station->step(now_, run_, present, [&](std::string_view line) { log_.add(clock_.wall(), station->entry().name, line); });
        if (station->up() && station->reported() && station->report().self) known_[station->entry().name] = *station->report().self;
        if (station->up() && station->reported()) say_new_alarms(*station);
    }
    for (const auto& station : stations_) {
        if (const auto trouble = station->take_trouble()) trouble_of(*station, *trouble);
    }
    look_after_replaced();
    replace_what_is_gone();
    advance();
    if (state != PartitionState::running || !options_.stop_when_finished) return;
    for (const auto& station : stations_) {
        const auto& report = station->report();
        if (station->entry().kind == StationKind::supervise && report.status.finished && report.run == run_ && station->reported())
            return stop("all events are done");
    }
}

// Phases -------------------------------------------------------------------------------------------------------------

void RunControl::State::set_phases(const std::vector<Phase>& phases) {
    phases_.assign(phases.begin(), phases.end());
    begun_ = false;
}

void RunControl::State::advance() {
    while (!phases_.empty()) {
        if (!begun_) begin(phases_.front());
        begun_ = true;
        if (waits(phases_.front())) return;
        const bool introduces = phases_.front().introduces;
        phases_.pop_front();
        begun_ = false;
        if (introduces) introduce();
        if (phases_.empty()) return phases_done();
    }
    if (state == PartitionState::ending && std::ranges::all_of(stations_, &StationControl::gone)) state = PartitionState::down;
}

void RunControl::State::begin(const Phase& phase) {
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
        if (phase.until) step.limit = std::max(std::chrono::duration_cast<std::chrono::milliseconds>(*phase.until - now_), std::chrono::milliseconds{1});
        station->add(step);
    }
}

bool RunControl::State::waits(const Phase& phase) {
    bool waiting = false;
    for (const auto& station : stations_) {
        if ((phase.kind && station->entry().kind != *phase.kind) || station->idle()) continue;
        if (phase.until && now_ >= *phase.until) {
            problem(fmt::format("{} did not answer {} in time and is ended", station->entry().name, phase.step.text()));
            station->end(now_, std::chrono::seconds{1});
            replacing_.erase(station->entry().name);
        } else {
            waiting = true;
        }
    }
    return waiting;
}

void RunControl::State::introduce() {
    const auto fit = check_peers(partition_, peers());
    if (fit) return;
    failure_ = fit.error().message();
    say(Severity::error, *failure_);
    end_all();
}

void RunControl::State::phases_done() {
    switch (state) {
        case PartitionState::coming_up:
            state = PartitionState::ready;
            say(Severity::information, fmt::format("partition {} is ready: {} stations", partition_.name, stations_.size()));
            break;
        case PartitionState::starting: {
            state = PartitionState::running;
            run_begin_ = now_;
            auto parameters = request_.parameters;
            if (!request_.comment.empty()) parameters["comment"] = request_.comment;
            parameters["partition"] = partition_.name;
            if (auto kept = keeper_.keep(run_, parameters); !kept) reports_.submit(report_of(Severity::warning, "run parameters are not in the catalogue", kept.error()));
            say(Severity::information, fmt::format("run {} runs", number(run_)));
            break;
        }
        case PartitionState::stopping: return end_of_run();
        case PartitionState::running:
        case PartitionState::paused: break;  // a pause or its end: the state was set when it began
        default: break;
    }
}

void RunControl::State::end_of_run() {
    RunResult result{run_, stop_reason_, run_seconds_, {}, 0, 0, results(), problems_};
    for (const auto& station : stations_) {
        if (!station->up() && !station->reported())
            result.problems.push_back(fmt::format("{} is gone and left no counts", station->entry().name));
    }
    balance(result);
    result.alarms = latched_alarms();
    const auto& e = result.events;
    if (auto kept = keeper_.keep(run_, {{"stop reason", result.reason}, {"triggers", fmt::to_string(e.triggers)}, {"accepted", fmt::to_string(e.accepted)},
                                        {"built", fmt::to_string(e.built)}, {"incomplete", fmt::to_string(e.incomplete)}});
        !kept)
        reports_.submit(report_of(Severity::warning, "the end of the run is not in the catalogue", kept.error()));
    say(result.good() ? Severity::information : Severity::error,
        fmt::format("run {} is over: {}{}", number(run_), stop_reason_, result.good() || result.problems.front() == stop_reason_ ? "" : fmt::format("; {}", result.problems.front())));
    last_ = std::move(result);
    ++runs_;
    state = PartitionState::ready;
    if (ending_wanted_) end_all();
}

void RunControl::State::end_all() {
    state = PartitionState::ending;
    phases_.clear();
    begun_ = false;
    replacing_.clear();
    for (const auto& station : stations_) station->end(now_, options_.exit_deadline);
}

// Requests -----------------------------------------------------------------------------------------------------------

Result<> RunControl::State::must_be(PartitionState wanted, std::string_view what) const {
    if (state == wanted) return {};
    return fail(Errc::refused, fmt::format("cannot {}: the partition is {}", what, weir::control::name(state)));
}

Result<> RunControl::State::bring_up() {
    if (auto good = must_be(PartitionState::down, "bring the partition up"); !good) return good;
    failure_.reset();
    ending_wanted_ = false;
    state = PartitionState::coming_up;
    set_phases(phases_up(options_));
    return {};
}

Result<RunNumber> RunControl::State::start(const RunRequest& request) {
    if (auto good = must_be(PartitionState::ready, "start a run"); !good) return std::unexpected(good.error());
    for (const auto& station : stations_) {
        if (!station->up() || !station->idle() || station->planned() != StationState::connected)
            return fail(Errc::refused, fmt::format("cannot start a run: {} is not ready", station->entry().name));
    }
    const auto run = keeper_.next_run();
    if (!run) return std::unexpected(run.error());
    run_ = *run;
    request_ = request;
    started_ = clock_.wall();
    run_begin_ = now_;
    stop_reason_.clear();
    problems_.clear();
    for (const auto& station : stations_) station->restarts = 0;
    state = PartitionState::starting;
    set_phases(phases_start(options_));
    say(Severity::information, fmt::format("run {} starts{}", number(run_), request.comment.empty() ? "" : ": " + request.comment));
    return run_;
}

Result<> RunControl::State::pause(Transition transition) {
    const bool resume = transition == Transition::resume;
    if (auto good = must_be(resume ? PartitionState::paused : PartitionState::running, weir::name(transition)); !good) return good;
    if (!phases_.empty()) return fail(Errc::refused, "cannot pause: an earlier pause is under way");
    state = resume ? PartitionState::running : PartitionState::paused;
    set_phases(phases_pause(options_, transition));
    say(Severity::information, fmt::format("run {} {}", number(run_), resume ? "goes on" : "pauses"));
    return {};
}

void RunControl::State::stop(const std::string& reason) {
    if (!run_active() || state == PartitionState::stopping) return;
    stop_reason_ = reason;
    run_seconds_ = state == PartitionState::starting ? 0 : std::chrono::duration<double>(now_ - run_begin_).count();
    state = PartitionState::stopping;
    set_phases(phases_stop(options_, now_));
    say(Severity::information, fmt::format("run {} stops: {}", number(run_), reason));
}

void RunControl::State::shut_down(const std::string& reason) {
    ending_wanted_ = true;
    if (run_active()) return stop(reason);
    if (state != PartitionState::down && state != PartitionState::ending) end_all();
}

// Views --------------------------------------------------------------------------------------------------------------

void RunControl::State::say(Severity severity, std::string what) {
    Report report;
    report.severity = severity;
    report.what = std::move(what);
    reports_.submit(std::move(report));
}

bool RunControl::State::run_active() const noexcept {
    return state == PartitionState::starting || state == PartitionState::running || state == PartitionState::paused || state == PartitionState::stopping;
}

std::vector<Peer> RunControl::State::peers() const {
    std::vector<Peer> all;
    for (const auto& entry : partition_.stations) {
        if (const auto peer = known_.find(entry.name); peer != known_.end()) all.push_back(peer->second);
    }
    return all;
}

std::vector<StationResult> RunControl::State::results() const {
    std::vector<StationResult> all;
    for (const auto& station : stations_) {
        const auto& status = station->report().status;
        all.push_back({station->entry().name, station->entry().kind, status.ledger, status.counters, station->restarts});
    }
    return all;
}

PartitionView RunControl::State::view() const {
    PartitionView view;
    view.state = state;
    view.run = run_;
    view.comment = request_.comment;
    view.started = started_;
    view.seconds = state == PartitionState::running || state == PartitionState::paused ? std::chrono::duration<double>(now_ - run_begin_).count() : run_seconds_;
    view.stop_reason = stop_reason_;
    view.failure = failure_;
    view.events = events_of(results());
    for (const auto& station : stations_) {
        const auto shown = station->gone() ? "gone" : !station->up() ? "launching" : weir::name(station->state());
        view.stations.push_back({station->entry(), shown, station->pid(), station->address(), station->restarts, station->report()});
    }
    view.last = last_;
    view.runs = runs_;
    return view;
}

// The face -----------------------------------------------------------------------------------------------------------

RunControl::RunControl(const Partition& partition, const RunControlOptions& options, const MakeLaunch& launch, Launcher& launcher,
                       StationLinks& links, RunKeeper& keeper, Reports& reports, LogBook& log, const Clock& clock)
    : state_(std::make_unique<State>(partition, options, launch, launcher, links, keeper, reports, log, clock)) {}
RunControl::~RunControl() = default;

void RunControl::step() {
    const std::scoped_lock lock(state_->mutex);
    state_->step();
}

Result<> RunControl::bring_up() {
    const std::scoped_lock lock(state_->mutex);
    return state_->bring_up();
}

Result<RunNumber> RunControl::start(const RunRequest& request) {
    const std::scoped_lock lock(state_->mutex);
    return state_->start(request);
}

Result<> RunControl::pause() {
    const std::scoped_lock lock(state_->mutex);
    return state_->pause(Transition::pause);
}

Result<> RunControl::resume() {
    const std::scoped_lock lock(state_->mutex);
    return state_->pause(Transition::resume);
}

Result<> RunControl::stop(const std::string& reason) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->state != PartitionState::paused && state_->state != PartitionState::starting) {
        if (auto good = state_->must_be(PartitionState::running, "stop the run"); !good) return good;
    }
    state_->stop(reason);
    return {};
}

void RunControl::shut_down(const std::string& reason) {
    const std::scoped_lock lock(state_->mutex);
    state_->shut_down(reason);
}

PartitionView RunControl::view() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->view();
}

}  // namespace weir::control
