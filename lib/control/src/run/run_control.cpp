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
constexpr auto note_every = 1s;

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
      launcher_(launcher),
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
    return {options.poll, one ? std::max(options.silent_after, options.silent_after_single) : options.silent_after,
            options.hosts_deadline};
}

/// A step sees where the last one led: commands between two steps begin a passage.
void RunControl::State::time_passage() {
    if (state == passing_) return;
    using enum PartitionState;
    if (passing_ == coming_up || passing_ == starting || passing_ == stopping || passing_ == ending)
        passages_[passing_].add(seen_ - passing_since_);
    passing_ = state;
    passing_since_ = seen_;
}

void RunControl::State::step() {
    const auto seen = clock_.now();
    now_ += std::min<SteadyTime::duration>(seen - seen_, step_max);
    seen_ = seen;
    time_passage();
    launcher_.step();
    for (const auto& station : stations_) {
        station->step(now_, seen_, run_, peers_,
                      [&](std::string_view line) { log_.add(clock_.wall(), station->entry().name, line); });
        if (!station->up() || !station->take_reported_anew()) continue;
        if (station->report().self) {
            auto self = *station->report().self;
            self.control = station->address();
            know(station->entry().name, self);
        }
        report_new_alarms(*station);
    }
    for (const auto& station : stations_) {
        if (const auto trouble = station->take_trouble()) trouble_of(*station, *trouble);
    }
    look_after_replaced();
    replace_what_is_gone();
    replace_what_hangs();
    advance();
    begin_again();
    if (run_active() && now_ - sources_looked_ >= options_.poll) look_at_sources();
    if (run_active() && seen_ - noted_ >= note_every) note_run();
    if (run_active()) note_changes();
    if (state == PartitionState::running) look_at_trigger_unit();
    if (state != PartitionState::running || !options_.stop_when_finished) return;
    for (const auto& station : stations_) {
        const auto& report = station->report();
        if (station->entry().kind == StationKind::supervise && report.status.finished && report.run == run_ &&
            station->reported())
            return stop("all events are done", Drain::complete);
    }
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
    begins_again_ = false;
    request_ = request;
    started_ = clock_.wall();
    run_begin_ = seen_;
    run_seconds_ = 0;
    stop_reason_.clear();
    problems_.clear();
    events_ = {};
    head_lost_ = false;
    closing_again_.clear();
    for (const auto& station : stations_) {
        station->restarts = 0;
        station->begin_run();
    }
    watch_.begin_run();
    trigger_unit_ = TriggerUnit::not_seen;
    trigger_unit_missed_.reset();
    changes_ = {.run = run_, .started = started_, .parameters = request.parameters};
    if (!request.comment.empty()) changes_.parameters["comment"] = request.comment;
    changes_noted_ = peers_noted_ = false;
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

Result<> RunControl::State::pause(service::Transition transition, const std::string& who) {
    const bool resume = transition == service::Transition::resume;
    WEIR_TRY(must_be(resume ? PartitionState::paused : PartitionState::running, service::name(transition)));
    state = resume ? PartitionState::running : PartitionState::paused;
    std::ranges::copy(phases_pause(options_, transition), std::back_inserter(phases_));  // behind an earlier one
    note_change({.what = service::name(transition), .who = who});
    report(Severity::information, fmt::format("run {} {}", number(run_), resume ? "goes on" : "pauses"));
    return {};
}

void RunControl::State::stop(const std::string& reason, Drain drain, const std::string& who) {
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
    note_change({.what = "stop", .who = who, .why = reason});
    state = PartitionState::stopping;
    drain_over_ = false;
    drain_until_.reset();
    stop_until_.reset();
    progress_.reset();
    if (drain == Drain::bounded) bound_stop();
    set_phases(phases_drain(options_, drain));
    report(Severity::information, fmt::format("run {} stops: {}", number(run_), reason));
}

void RunControl::State::shut_down(const std::string& reason, const std::string& who) {
    ending_wanted_ = true;
    begins_again_ = false;
    if (taking_over_ && run_ != RunNumber{}) {
        stop_at_look_ = {reason, who};
        return;
    }
    if (run_active()) return stop(reason, Drain::bounded, who);
    if (state != PartitionState::down && state != PartitionState::ending) end_all();
}

void RunControl::State::abandon(const std::string& reason) {
    for (const auto& station : stations_) station->kill_soon();  // all, before one is waited for
    for (const auto& station : stations_) station->kill();
    const bool run = run_active() || (std::exchange(taking_over_, false) && run_ != RunNumber{});
    if (run && stop_reason_.empty()) {
        note_change({.what = "stop", .why = reason});
        stop_reason_ = reason;
        run_seconds_ =
            state == PartitionState::starting ? 0 : std::chrono::duration<double>(seen_ - run_begin_).count();
    }
    phases_.clear();
    begun_ = false;
    replacing_.clear();
    ending_wanted_ = head_lost_ = false;
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

void RunControl::State::know(const std::string& name, const Peer& peer) {
    auto& known = known_[name];
    if (known == peer) return;
    known = peer;
    list_peers();
}

void RunControl::State::list_peers() {
    peers_noted_ = false;
    peers_.clear();
    for (const auto& entry : partition_.stations) {
        if (const auto found = known_.find(entry.name); found != known_.end()) peers_.push_back(found->second);
    }
}

std::vector<StationResult> RunControl::State::results() const {
    std::vector<StationResult> all;
    for (const auto& station : stations_) {
        const auto& status = station->status();
        // What is ended did not answer: its last answer is old.
        const bool gone = station->gone() || station->ending() || station->status_is_kept();
        const bool handed_over = std::ranges::any_of(partition_.stations, [&](const StationEntry& other) {
            return other.kind == StationKind::handoff && other.recorder == station->entry().name;
        });
        all.push_back({station->entry().name, station->entry().kind, status.ledger, status.counters, station->events(),
                       station->restarts, gone, handed_over, station->sources()});
    }
    return all;
}

/// Of the run that goes on, or the last one. They do not fall: not when stations are replaced after its end, nor while
/// a recorder is not back since before a take-over.
RunEvents RunControl::State::events() const { return run_active() ? at_least(events_, events_of(results())) : events_; }

double RunControl::State::seconds() const noexcept {
    const bool goes_on = state == PartitionState::running || state == PartitionState::paused;
    return goes_on ? std::chrono::duration<double>(seen_ - run_begin_).count() : run_seconds_;
}

PartitionView RunControl::State::view() const {
    PartitionView view;
    view.state = state;
    view.run = run_;
    view.comment = request_.comment;
    view.started = started_;
    view.seconds = seconds();
    view.stop_reason = stop_reason_;
    view.failure = failure_;
    view.events = events();
    view.sources = sources_;
    view.changes = changes_.list;
    for (const auto& station : stations_) {
        const auto shown = station->gone() ? "gone" : !station->up() ? "launching" : service::name(station->state());
        auto report = station->report();
        report.status = station->status();
        report.status.sources.clear();  // summed up in `sources`
        const auto silence = station->silence(now_);
        view.stations.push_back({station->entry(), shown, station->host(), station->pid(), station->address(),
                                 station->restarts, silence > silence_shown_after ? 0 : station->rate(),
                                 std::move(report), std::chrono::duration<double>(silence).count(),
                                 station->counted_at()});
    }
    view.last = last_;
    view.runs = runs_;
    view.bad_runs = bad_runs_;
    for (const auto& [passed, histogram] : passages_) view.passages[passed] = histogram.durations();
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

Result<> RunControl::take_over() {
    const std::scoped_lock lock(state_->mutex);
    return state_->take_over();
}

Result<RunNumber> RunControl::start(const RunRequest& request) {
    const std::scoped_lock lock(state_->mutex);
    return state_->start(request);
}

Result<> RunControl::pause(const std::string& who) {
    const std::scoped_lock lock(state_->mutex);
    return state_->pause(service::Transition::pause, who);
}

Result<> RunControl::resume(const std::string& who) {
    const std::scoped_lock lock(state_->mutex);
    return state_->pause(service::Transition::resume, who);
}

Result<> RunControl::stop(const std::string& reason, Drain drain, const std::string& who) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->state != PartitionState::paused && state_->state != PartitionState::starting &&
        !state_->stops_without_deadline()) {
        WEIR_TRY(state_->must_be(PartitionState::running, "stop the run"));
    }
    state_->stop(reason, drain, who);
    return {};
}

Result<> RunControl::mask(SourceId source, bool masked, const std::string& who) {
    const std::scoped_lock lock(state_->mutex);
    return state_->mask_by_command(source, masked, who);
}

Result<> RunControl::replace(const std::string& station, const std::string& who) {
    const std::scoped_lock lock(state_->mutex);
    return state_->replace_by_command(station, who);
}

Result<> RunControl::apply(const RunControlOptions& options, const std::vector<std::string>& anew,
                           const std::function<Result<>()>& put) {
    const std::scoped_lock lock(state_->mutex);
    return state_->apply(options, anew, put);
}

void RunControl::shut_down(const std::string& reason, const std::string& who) {
    const std::scoped_lock lock(state_->mutex);
    state_->shut_down(reason, who);
}

void RunControl::abandon(const std::string& reason) {
    const std::scoped_lock lock(state_->mutex);
    state_->abandon(reason);
}

PartitionGlance RunControl::glance() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->glance();
}

PartitionView RunControl::view() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->view();
}

}  // namespace weir::control
