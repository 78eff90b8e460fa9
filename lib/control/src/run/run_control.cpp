// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_control.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "run/run_control_state.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

// The time in which run control did not run (it was stopped, or its machine was) counts as this at most.
constexpr auto step_max = 1s;
// Supervisor and DFM have nothing in hand and disagree about how much there was: no message is under way that long.
constexpr auto disagreement_max = 10s;
constexpr auto note_every = 1s;
constexpr std::size_t ranges_kept = 10'000;  // of ids of lost events, in the catalogue
constexpr auto still_after = 60s;            // a drain without progress is reported

/// What a run's end leaves in the catalogues.
std::map<std::string, std::string> parameters_of(const RunResult& result) {
    const auto& e = result.events;
    std::map<std::string, std::string> all{{"stop reason", result.reason},
                                           {"triggers", fmt::to_string(e.triggers)},
                                           {"accepted", fmt::to_string(e.accepted)},
                                           {"built", fmt::to_string(e.built)},
                                           {"incomplete", fmt::to_string(e.incomplete)},
                                           {"recorded", fmt::to_string(e.recorded)}};
    if (!result.account) return all;
    for (const auto& [cause, events] : result.account->lost) all["lost: " + cause] = events.ranges(ranges_kept);
    if (!result.account->twice.empty()) all["recorded twice"] = result.account->twice.ranges(ranges_kept);
    if (!result.account->unaccepted.empty())
        all["recorded, never accepted"] = result.account->unaccepted.ranges(ranges_kept);
    return all;
}

}  // namespace

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

RunControl::State::State(const Partition& partition, const RunControlOptions& options, const MakeLaunch& launch,
                         Launcher& launcher, StationLinks& links, RunKeeper& keeper, Reporter report, LogBook& log,
                         const Clock& clock)
    : partition_(partition),
      options_(options),
      keeper_(keeper),
      report_(std::move(report)),
      log_(log),
      clock_(clock),
      now_(clock.now()),
      seen_(now_),
      watch_(source_limits(options)) {
    mask_those_of_the_file();
    for (const auto& entry : partition.stations)
        stations_.push_back(
            std::make_unique<StationControl>(entry, launch(entry), times_of(entry, options), launcher, links));
}

SourceLimits RunControl::State::source_limits(const RunControlOptions& options) {
    return {options.incomplete_max, options.source_silent_after, options.mask_after};
}

StationTimes RunControl::State::times_of(const StationEntry& entry, const RunControlOptions& options) {
    const bool one = entry.kind == StationKind::supervise || entry.kind == StationKind::assign;
    return {options.poll, one ? std::max(options.silent_after, options.silent_after_single) : options.silent_after};
}

void RunControl::State::step() {
    const auto seen = clock_.now();
    now_ += std::min<SteadyTime::duration>(seen - seen_, step_max);
    seen_ = seen;
    const auto present = peers();
    for (const auto& station : stations_) {
        station->step(now_, run_, present,
                      [&](std::string_view line) { log_.add(clock_.wall(), station->entry().name, line); });
        if (station->up() && station->reported() && station->report().self)
            known_[station->entry().name] = *station->report().self;
        if (station->up() && station->reported()) report_new_alarms(*station);
    }
    for (const auto& station : stations_) {
        if (const auto trouble = station->take_trouble()) trouble_of(*station, *trouble);
    }
    look_after_replaced();
    replace_what_is_gone();
    replace_what_hangs();
    advance();
    if (run_active() && now_ - sources_looked_ >= options_.poll) look_at_sources();
    if (run_active() && seen_ - noted_ >= note_every) note_run();
    if (state != PartitionState::running || !options_.stop_when_finished) return;
    for (const auto& station : stations_) {
        const auto& report = station->report();
        if (station->entry().kind == StationKind::supervise && report.status.finished && report.run == run_ &&
            station->reported())
            return stop("all events are done", Drain::complete);
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
    return phases_.empty() || !phases_.front().kind ? stop_rank(StationKind::handoff) + 1
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

const StationControl* RunControl::State::single(StationKind kind) const noexcept {
    const auto found = std::ranges::find_if(stations_, [&](const auto& s) { return s->entry().kind == kind; });
    return found == stations_.end() ? nullptr : found->get();
}

/// Every accepted event is final: the supervisor makes none and has sent all decisions, and the DFM has received them
/// and has none in hand. Without a DFM that is not known; then builders and filters bring away what they have.
bool RunControl::State::drained() {
    const auto* dfm = single(StationKind::assign);
    const auto* supervisor = single(StationKind::supervise);
    if (dfm == nullptr) return true;
    if (!dfm->up() || dfm->ending()) return drained_without_dfm();
    if (dfm->state() != service::StationState::running) return dfm->idle();
    const bool supervised = supervisor != nullptr && supervisor->up() && !supervisor->ending() &&
                            supervisor->state() != service::StationState::connected;
    if (supervised &&
        (!supervisor->idle() || supervisor->report_asked() < drain_begun_ || supervisor->status().ledger.in_hand > 0))
        return false;
    if (dfm->report_asked() < drain_begun_ || dfm->status().ledger.in_hand > 0) return false;
    const std::pair counts{supervised ? decisions_of(supervisor->status().ledger, supervisor->status().counters) : 0,
                           dfm->status().ledger.received};
    if (!supervised || counts.first == counts.second) return true;
    if (!disagreement_ || disagreement_->counts != counts) disagreement_ = Disagreement{counts, now_};
    const auto asked = std::min(supervisor->report_asked(), dfm->report_asked());
    return asked - disagreement_->since >= disagreement_max;  // reported at the end, as a ledger that does not balance
}

bool RunControl::State::drained_without_dfm() {
    if (!dfm_gone_since_) dfm_gone_since_ = now_;
    return std::ranges::all_of(stations_, [&](const auto& station) {
        if (station->entry().kind != StationKind::build && station->entry().kind != StationKind::filter) return true;
        if (station->gone() && station->idle()) return true;  // it is not started again
        return station->idle() && !replacing_.contains(station->entry().name) &&
               station->report_asked() > *dfm_gone_since_ && station->status().ledger.in_hand == 0;
    });
}

bool RunControl::State::waits_for_drain() {
    const auto* dfm = single(StationKind::assign);
    const auto in_hand = dfm != nullptr ? dfm->status().ledger.in_hand : 0;
    if (!progress_ && in_hand > 0)
        report(Severity::information,
               fmt::format("run {} waits for {} accepted events that are not final", number(run_), in_hand));
    if (!progress_ || progress_->in_hand != in_hand) progress_ = Progress{in_hand, now_};
    if (drained()) return false;
    if (drain_until_ && now_ >= *drain_until_) return false;
    if (now_ - progress_->since < still_after) return true;
    report_({.severity = Severity::warning,
             .what = fmt::format("run {} has waited {} for {} accepted events, and none became final", number(run_),
                                 to_string(std::chrono::duration_cast<std::chrono::seconds>(now_ - progress_->since)),
                                 in_hand),
             .advice = "see the stations' alarms; weir run stop gives the run its stop_deadline to end",
             .alarm = "the run does not end"});
    progress_->since = now_;
    return true;
}

void RunControl::State::drain_over() {
    drain_over_ = true;
    if (stop_until_) return set_phases(phases_stop(now_, *stop_until_, {}));
    const auto* dfm = single(StationKind::assign);  // without one the supervisor waits for nothing
    const bool alive = dfm != nullptr && dfm->up() && !dfm->ending();
    set_phases(phases_stop(now_, now_ + options_.stop_deadline,
                           alive ? options_.silent_after_single : std::chrono::milliseconds{}));
}

/// What is not final by then is abandoned.
void RunControl::State::bound_drain() {
    if (!drain_until_) drain_until_ = now_ + drain_share(options_);
}

void RunControl::State::bound_stop() {
    if (stop_until_) return;
    bound_drain();
    stop_until_ = now_ + options_.stop_deadline;
}

/// An operator is there now: what has not stopped yet shares out the time of his stop.
void RunControl::State::bound_rest_of_stop() {
    const auto present = rank_of_front();
    auto phases = phases_stop(now_, *stop_until_, {});
    std::erase_if(phases, [&](const Phase& phase) { return phase.kind && stop_rank(*phase.kind) < present; });
    set_phases(phases);
}

void RunControl::State::introduce() {
    const auto fit = check_peers(partition_, peers());
    if (fit) return;
    failure_ = fit.error().message();
    report(Severity::error, *failure_);
    end_all();
}

void RunControl::State::phases_done() {
    switch (state) {
        case PartitionState::coming_up:
            state = PartitionState::ready;
            report(Severity::information,
                   fmt::format("partition {} is ready: {} stations", partition_.name, stations_.size()));
            break;
        case PartitionState::starting: {
            state = PartitionState::running;
            run_begin_ = seen_;
            auto parameters = request_.parameters;
            if (!request_.comment.empty()) parameters["comment"] = request_.comment;
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

void RunControl::State::end_of_run() {
    RunResult result{run_, stop_reason_, run_seconds_, {}, 0, 0, results(), {}, problems_};
    for (const auto& station : stations_) {
        if (!station->up() && !station->reported() && !dispensable(station->entry().kind))
            result.problems.push_back(fmt::format("{} is gone and left no counts", station->entry().name));
    }
    if (partition_.count(StationKind::handoff) > 0) {
        if (auto files = keeper_.hand_off(run_)) {
            result.hand_off = std::move(*files);
        } else {
            report_(report_of(Severity::warning, "what is handed over of the run is not known", files.error()));
        }
    }
    look_at_sources();
    result.sources = *sources_;
    balance(result);
    check_incomplete(result, options_.incomplete_max);
    check_triggers(result, options_.incomplete_max);
    for (auto& station : result.stations) station.events.reset();  // large, and not needed any more
    for (const auto& station : stations_) station->forget_events();
    result.alarms = latched_alarms();
    note_changes();
    if (auto kept = keeper_.keep(run_, parameters_of(result)); !kept)
        report_(report_of(Severity::warning, "the end of the run is not in the catalogue", kept.error()));
    report(result.good() ? Severity::information : Severity::error,
           fmt::format("run {} is over: {}{}", number(run_), stop_reason_,
                       result.good() || result.problems.front() == stop_reason_
                           ? ""
                           : fmt::format("; {}", result.problems.front())));
    keeper_.over();
    if (result.hand_off) report_files_left(*result.hand_off);
    if (result.account && !result.account->good()) {
        for (const auto& line : result.problems) {
            if (line != result.problems.front() && std::ranges::find(problems_, line) == problems_.end())
                report(Severity::error, line);
        }
    }
    last_ = std::move(result);
    ++runs_;
    state = PartitionState::ready;
    if (ending_wanted_) end_all();
}

void RunControl::State::report_files_left(const HandOffAccount& files) const {
    if (const auto later = files.later_text(); !later.empty())
        report_({.severity = Severity::warning,
                 .what = fmt::format("run {}: {}", number(run_), later),
                 .advice = "the next run hands them over too, and so does weir handoff"});
    if (const auto kept = files.kept_text(); !kept.empty())
        report_({.severity = Severity::warning,
                 .what = fmt::format("run {}: {}", number(run_), kept),
                 .advice = "no hand-off takes them; copy by hand what weir verify finds good"});
}

/// A run control before this one was killed in a run: its stations have stopped by themselves, and closed the run.
void RunControl::State::look_for_run_left_open() {
    const auto left = keeper_.left();
    if (!left) {
        report_(report_of(Severity::warning, "it is not known whether the run before was stopped", left.error()));
        return;
    }
    if (!*left) return;
    const auto& [run, noted] = **left;
    auto parameters = noted;
    parameters["stop reason"] =
        "run control ended without stopping the run; its counts are those of a second before, or older";
    const auto accepted = noted.contains("accepted") ? noted.at("accepted") : std::string("0");
    report_({.severity = Severity::error,
             .what = fmt::format("run {} was not stopped: the run control before this one was killed", number(run)),
             .why = fmt::format("{} events were accepted when it was last noted", accepted),
             .advice = "weir ls and weir verify show what its recorders have",
             .alarm = "run not stopped"});
    if (auto kept = keeper_.keep(run, parameters); !kept) {  // it stays noted, until the next run is
        report_(report_of(Severity::warning, "the end of the run before is not in the catalogue", kept.error()));
        return;
    }
    keeper_.over();
}

void RunControl::State::note_run() {
    noted_ = seen_;
    const auto e = events_of(results());
    const std::map<std::string, std::string> counts{{"triggers", fmt::to_string(e.triggers)},
                                                    {"accepted", fmt::to_string(e.accepted)},
                                                    {"built", fmt::to_string(e.built)},
                                                    {"incomplete", fmt::to_string(e.incomplete)},
                                                    {"recorded", fmt::to_string(e.recorded)}};
    const auto noted = keeper_.note(run_, counts);
    if (!noted && !note_failed_)
        report_(report_of(Severity::warning, "what is known of the run cannot be noted", noted.error()));
    note_failed_ = !noted;
    note_changes();
}

void RunControl::State::note_changes() {
    if (changes_noted_) return;
    changes_noted_ = true;  // tried once for each
    if (const auto noted = keeper_.note(changes_); !noted)
        report_(report_of(Severity::warning, "the record of the run cannot be written", noted.error()));
}

void RunControl::State::end_all() {
    state = PartitionState::ending;
    phases_.clear();
    begun_ = false;
    replacing_.clear();
    for (const auto& station : stations_) station->end(now_, exit_grace(options_, station->entry().kind));
}

// Requests -----------------------------------------------------------------------------------------------------------

Result<> RunControl::State::must_be(PartitionState wanted, std::string_view what) const {
    if (state == wanted) return {};
    return fail(Errc::refused, fmt::format("cannot {}: the partition is {}", what, weir::control::name(state)));
}

Result<> RunControl::State::bring_up() {
    WEIR_TRY(must_be(PartitionState::down, "bring the partition up"));
    failure_.reset();
    ending_wanted_ = false;
    look_for_run_left_open();
    state = PartitionState::coming_up;
    set_phases(phases_up(options_));
    return {};
}

Result<RunNumber> RunControl::State::start(const RunRequest& request) {
    WEIR_TRY(must_be(PartitionState::ready, "start a run"));
    for (const auto& station : stations_) {
        if (misses(*station))
            return fail(Errc::refused, fmt::format("cannot start a run: {0} died too often and is not started again; "
                                                   "weir run replace {0} tries once more",
                                                   station->entry().name));
    }
    run_ = WEIR_TRY(keeper_.next_run());
    request_ = request;
    started_ = clock_.wall();
    run_begin_ = seen_;
    run_seconds_ = 0;
    stop_reason_.clear();
    problems_.clear();
    closing_again_.clear();
    for (const auto& station : stations_) {
        station->restarts = 0;
        station->begin_run();
    }
    watch_.begin_run();
    changes_ = {run_, started_, {}, 0};
    changes_noted_ = false;
    begin_masks();
    sources_alarmed_.clear();
    sources_ = std::make_shared<const std::vector<RunSource>>();
    state = PartitionState::starting;
    note_run();
    set_phases(phases_start(options_));
    report(Severity::information,
           fmt::format("run {} starts{}", number(run_), request.comment.empty() ? "" : ": " + request.comment));
    return run_;
}

Result<> RunControl::State::apply(const RunControlOptions& options, const std::vector<std::string>& anew,
                                  const std::function<Result<>()>& put) {
    WEIR_TRY(must_be(PartitionState::ready, "apply a partition file"));
    for (const auto& name : anew) {
        if (replacing_.contains(name))
            return fail(Errc::refused, fmt::format("{} is being started; apply the file when it is there", name));
    }
    WEIR_TRY(put());
    options_ = options;
    watch_ = SourceWatch(source_limits(options));
    mask_those_of_the_file();
    for (const auto& station : stations_) {
        station->set_times(times_of(station->entry(), options));
        if (std::ranges::find(anew, station->entry().name) == anew.end()) continue;
        not_replaced_.erase(station->entry().name);
        station->restarted.clear();
        station->kill();
        start_again(*station);
    }
    report(Severity::information, fmt::format("the partition file was applied; {} started anew",
                                              anew.empty() ? "no station is" : fmt::to_string(fmt::join(anew, ", "))));
    return {};
}

Result<> RunControl::State::pause(service::Transition transition) {
    const bool resume = transition == service::Transition::resume;
    WEIR_TRY(must_be(resume ? PartitionState::paused : PartitionState::running, service::name(transition)));
    state = resume ? PartitionState::running : PartitionState::paused;
    std::ranges::copy(phases_pause(options_, transition), std::back_inserter(phases_));  // behind an earlier one
    note_change({.what = service::name(transition)});
    report(Severity::information, fmt::format("run {} {}", number(run_), resume ? "goes on" : "pauses"));
    return {};
}

void RunControl::State::stop(const std::string& reason, Drain drain) {
    if (!run_active()) return;
    if (state == PartitionState::stopping) {
        if (drain != Drain::bounded || stop_until_) return;
        bound_stop();
        if (!draining()) return bound_rest_of_stop();
        return report(Severity::information, fmt::format("run {} waits {} more for its last events: {}", number(run_),
                                                         to_string(drain_share(options_)), reason));
    }
    stop_reason_ = reason;
    run_seconds_ = state == PartitionState::starting ? 0 : std::chrono::duration<double>(seen_ - run_begin_).count();
    note_change({.what = "stop", .why = reason});
    state = PartitionState::stopping;
    drain_over_ = false;
    drain_until_.reset();
    stop_until_.reset();
    progress_.reset();
    if (drain == Drain::bounded) bound_stop();
    set_phases(phases_drain(options_, drain));
    report(Severity::information, fmt::format("run {} stops: {}", number(run_), reason));
}

void RunControl::State::shut_down(const std::string& reason) {
    ending_wanted_ = true;
    if (run_active()) return stop(reason, Drain::bounded);
    if (state != PartitionState::down && state != PartitionState::ending) end_all();
}

void RunControl::State::abandon(const std::string& reason) {
    for (const auto& station : stations_) station->kill_soon();  // all, before one is waited for
    for (const auto& station : stations_) station->kill();
    const bool run = run_active();
    if (run && stop_reason_.empty()) {
        note_change({.what = "stop", .why = reason});
        stop_reason_ = reason;
        run_seconds_ =
            state == PartitionState::starting ? 0 : std::chrono::duration<double>(seen_ - run_begin_).count();
    }
    phases_.clear();
    begun_ = false;
    replacing_.clear();
    ending_wanted_ = false;
    if (run) {
        problem(reason);
        end_of_run();
    }
    state = PartitionState::down;
}

// Views --------------------------------------------------------------------------------------------------------------

void RunControl::State::report(Severity severity, std::string what) {
    report_({.severity = severity, .what = std::move(what)});
}

bool RunControl::State::run_active() const noexcept {
    return state == PartitionState::starting || state == PartitionState::running || state == PartitionState::paused ||
           state == PartitionState::stopping;
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
        const auto& status = station->status();
        const bool gone =
            station->gone() || station->ending();  // it is ended because it did not answer: its last answer is old
        const bool handed_over = std::ranges::any_of(partition_.stations, [&](const StationEntry& other) {
            return other.kind == StationKind::handoff && other.recorder == station->entry().name;
        });
        all.push_back({station->entry().name, station->entry().kind, status.ledger, status.counters, station->events(),
                       station->restarts, gone, handed_over, station->sources()});
    }
    return all;
}

PartitionView RunControl::State::view() const {
    PartitionView view;
    view.state = state;
    view.run = run_;
    view.comment = request_.comment;
    view.started = started_;
    view.seconds = state == PartitionState::running || state == PartitionState::paused
                       ? std::chrono::duration<double>(seen_ - run_begin_).count()
                       : run_seconds_;
    view.stop_reason = stop_reason_;
    view.failure = failure_;
    view.events = events_of(results());
    view.sources = sources_;
    view.changes = changes_.list;
    for (const auto& station : stations_) {
        const auto shown = station->gone() ? "gone" : !station->up() ? "launching" : service::name(station->state());
        auto report = station->report();
        report.status = station->status();
        report.status.sources.clear();  // summed up in `sources`
        view.stations.push_back({station->entry(), shown, station->pid(), station->address(), station->restarts,
                                 station->rate(), std::move(report)});
    }
    view.last = last_;
    view.runs = runs_;
    return view;
}

// The face -----------------------------------------------------------------------------------------------------------

RunControl::RunControl(const Partition& partition, const RunControlOptions& options, const MakeLaunch& launch,
                       Launcher& launcher, StationLinks& links, RunKeeper& keeper, Reporter report, LogBook& log,
                       const Clock& clock)
    : state_(std::make_unique<State>(partition, options, launch, launcher, links, keeper, std::move(report), log,
                                     clock)) {}
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
    return state_->pause(service::Transition::pause);
}

Result<> RunControl::resume() {
    const std::scoped_lock lock(state_->mutex);
    return state_->pause(service::Transition::resume);
}

Result<> RunControl::stop(const std::string& reason, Drain drain) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->state != PartitionState::paused && state_->state != PartitionState::starting &&
        !state_->stops_without_deadline()) {
        WEIR_TRY(state_->must_be(PartitionState::running, "stop the run"));
    }
    state_->stop(reason, drain);
    return {};
}

Result<> RunControl::mask(SourceId source, bool masked, const std::string& who) {
    const std::scoped_lock lock(state_->mutex);
    return state_->mask_by_command(source, masked, who);
}

Result<> RunControl::replace(const std::string& station) {
    const std::scoped_lock lock(state_->mutex);
    return state_->replace_by_command(station);
}

Result<> RunControl::apply(const RunControlOptions& options, const std::vector<std::string>& anew,
                           const std::function<Result<>()>& put) {
    const std::scoped_lock lock(state_->mutex);
    return state_->apply(options, anew, put);
}

void RunControl::shut_down(const std::string& reason) {
    const std::scoped_lock lock(state_->mutex);
    state_->shut_down(reason);
}

void RunControl::abandon(const std::string& reason) {
    const std::scoped_lock lock(state_->mutex);
    state_->abandon(reason);
}

PartitionView RunControl::view() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->view();
}

}  // namespace weir::control
