// SPDX-License-Identifier: Apache-2.0
// One station as run control holds it: its process, its control port, and the steps that it is to go through one after
// the other. It reports what happened; what that means for the partition is RunControl's to decide.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/control/launcher.hpp"
#include "weir/control/log_book.hpp"
#include "weir/control/partition.hpp"
#include "weir/control/station_link.hpp"

namespace weir::control {

struct StationStep {
    enum class Kind { launch, transition, change_peers, mask, report };
    Kind kind = Kind::launch;
    service::Transition transition = service::Transition::configure;
    std::chrono::milliseconds limit{};  // from its begin on; the station ends it a little earlier
    std::chrono::milliseconds grace{};  // beyond it: the station may stand still, and go on

    [[nodiscard]] std::string text() const;
};

/// What went wrong. `died`: there is no process any more (it ended, or was killed because it was silent).
struct StationTrouble {
    bool died = false;
    bool answered = false;  // the station refused
    std::string what{};     // "did not answer stop within 6s"
};

/// A line of a station's log: a report of that severity, with or without its time before it, or of a command that
/// fails ("weir readout: ...").
[[nodiscard]] bool is_error_line(std::string_view line);

struct StationTimes {
    std::chrono::milliseconds poll{200};
    std::chrono::milliseconds silent_after{10'000};
    std::chrono::milliseconds hosts_deadline{120'000};  // for its machine to be there, before it is launched
};

class StationControl {
public:
    StationControl(const StationEntry& entry, LaunchRequest request, const StationTimes& times, Launcher& launcher,
                   StationLinks& links);
    ~StationControl();
    StationControl(const StationControl&) = delete;
    StationControl& operator=(const StationControl&) = delete;

    void add(const StationStep& step);
    /// Takes the process that a run control before this one left, if there is one; `limit` for it to announce itself.
    /// Its state is what it reports.
    [[nodiscard]] bool adopt(SteadyTime now, std::chrono::milliseconds limit);
    /// It, or one before it, was started in the current run; `counts_are_of_it`: those of its report.
    void has_started(bool counts_are_of_it) noexcept;
    void set_times(const StationTimes& times) noexcept { times_ = times; }
    /// Of all starts and mask steps that begin from now on.
    void set_masks(std::vector<service::SourceMask> masks) { masks_ = std::move(masks); }
    /// Does what is due. `now`: time in which run control did not run counts as little; `seen`: of the clock. `run` and
    /// `peers` are for calls that begin now.
    void step(SteadyTime now, SteadyTime seen, RunNumber run, const std::vector<Peer>& peers,
              const std::function<void(std::string_view)>& log_line);

    /// Nothing is under way or waits.
    [[nodiscard]] bool idle() const noexcept { return steps_.empty(); }
    /// What went wrong since the last call; the steps that were left are discarded then.
    [[nodiscard]] std::optional<StationTrouble> take_trouble() { return std::exchange(trouble_, std::nullopt); }

    /// SIGTERM, and after a grace SIGKILL; its end is no trouble.
    void end(SteadyTime now, std::chrono::milliseconds grace);
    /// SIGKILL; its end is no trouble.
    void kill();
    /// SIGKILL, and nothing else: its end is seen in a later step. For many at once, so that none waits for another.
    void kill_soon() noexcept;

    [[nodiscard]] const StationEntry& entry() const noexcept { return entry_; }
    [[nodiscard]] bool up() const noexcept { return link_ != nullptr; }
    [[nodiscard]] bool gone() const noexcept { return process_ == nullptr; }
    [[nodiscard]] bool ending() const noexcept { return kill_at_.has_value(); }
    /// It, or the process before it, has started the current run.
    [[nodiscard]] bool started() const noexcept { return started_; }
    /// Where it will be when all its steps are done.
    [[nodiscard]] service::StationState planned() const noexcept { return planned_; }
    [[nodiscard]] service::StationState state() const noexcept { return state_; }
    /// Its latest, also of a process that is gone.
    [[nodiscard]] const service::StationReport& report() const noexcept { return report_; }
    [[nodiscard]] bool reported() const noexcept { return reported_; }
    /// There is a new one since the last call.
    [[nodiscard]] bool take_reported_anew() noexcept { return std::exchange(reported_anew_, false); }
    /// When that was asked for.
    [[nodiscard]] SteadyTime report_asked() const noexcept { return report_asked_; }
    /// A run begins: counts are those of the run before, until the station has started.
    void begin_run();
    /// The run is over: a process that comes from now on is not in it.
    void end_run() noexcept;
    /// What it counts in this run; nothing before it has started. Where a process of the run is gone: what that one
    /// counted last, until the next one has started the run and has everything again (a recorder reads its files).
    [[nodiscard]] const service::StationStatus& status() const noexcept {
        return of_this_run_ ? report_.status : kept_;
    }
    /// That is of a process that is gone.
    [[nodiscard]] bool status_is_kept() const noexcept { return is_kept_; }
    /// By source, in this run: also what processes before this one had counted.
    [[nodiscard]] std::vector<service::SourceStatus> sources() const;
    /// Which events it means in this run, as it answered the last question for a status (StationStep::Kind::report).
    [[nodiscard]] const std::shared_ptr<const service::StationEvents>& events() const noexcept { return events_; }
    void forget_events() noexcept { events_.reset(); }
    /// What it received, a second, of late.
    [[nodiscard]] double rate() const noexcept { return rate_; }
    /// When it counted what rate() is made of, of the clock; nothing: it is not there, or counts nothing in this run.
    [[nodiscard]] std::optional<SteadyTime> counted_at() const noexcept {
        return link_ && !counted_.empty() ? std::optional(counted_.back().at) : std::nullopt;
    }
    /// For how long its status was asked for without an answer; zero: it answers, is ended, or writes its events.
    [[nodiscard]] SteadyTime::duration silence(SteadyTime now) const noexcept;
    /// Since when a selection of it hangs; nothing: none does.
    [[nodiscard]] std::optional<SteadyTime> hanging_since() const noexcept { return hanging_since_; }
    /// This process has answered how the others reach it.
    [[nodiscard]] bool introduced() const noexcept { return introduced_; }
    /// The machine; empty: this one, or there is no process.
    [[nodiscard]] std::string host() const { return process_ ? process_->host() : std::string(); }
    [[nodiscard]] std::int64_t pid() const noexcept { return process_ ? process_->pid() : 0; }
    [[nodiscard]] const std::string& address() const noexcept { return address_; }

    std::uint32_t restarts = 0;          // in this run
    std::deque<SteadyTime> restarted{};  // of late

private:
    void read_log(const std::function<void(std::string_view)>& log_line);
    void look_at_process(SteadyTime now, const std::function<void(std::string_view)>& log_line);
    void look_at_reports(SteadyTime now);
    void take_report(service::StationReport report, SteadyTime now);
    [[nodiscard]] bool answered(SteadyTime now, RunNumber run, const std::vector<Peer>& peers);
    void call(RunNumber run, const std::vector<Peer>& peers);
    void go_on(SteadyTime now, RunNumber run, const std::vector<Peer>& peers);
    void begin(SteadyTime now, RunNumber run, const std::vector<Peer>& peers);
    [[nodiscard]] bool launched(SteadyTime now);
    [[nodiscard]] bool waits_for_machine(SteadyTime now);
    void done(SteadyTime now);
    void fail(StationTrouble trouble);
    void forget_process();

    const StationEntry entry_;
    const LaunchRequest request_;
    StationTimes times_;
    Launcher& launcher_;
    StationLinks& links_;
    std::unique_ptr<LogLines> log_;
    SteadyTime log_read_{};
    std::string last_error_;  // of the lines in its log that are errors; of this process

    std::unique_ptr<LaunchedProcess> process_;
    std::unique_ptr<StationLink> link_;
    std::string address_;
    service::StationState state_ = service::StationState::initial;
    service::StationState planned_ = service::StationState::initial;
    std::deque<StationStep> steps_;  // the first is under way when begun_
    std::optional<SteadyTime> begun_;
    std::optional<SteadyTime> waits_since_;  // for its machine
    std::optional<StationTrouble> trouble_;
    std::optional<SteadyTime> kill_at_;  // it was asked to end

    service::StationReport report_;
    bool reported_ = false, reported_anew_ = false;
    bool in_run_ = false;                        // between begin_run() and end_run()
    bool of_this_run_ = true;                    // the counts of the present process
    bool started_ = false;                       // in this run, by this process or one before it
    std::optional<SteadyTime> process_started_;  // by this one: reports that were asked for later are of the run
    service::StationStatus kept_;                // in this run, of a process that is gone, without sources; or nothing
    bool is_kept_ = false;
    std::vector<service::SourceMask> masks_;
    service::SourceTable earlier_sources_;  // of processes that are gone, in this run
    std::shared_ptr<const service::StationEvents> events_;
    double rate_ = 0;
    struct Counted {
        SteadyTime at{};
        std::uint64_t received = 0;
    };
    std::deque<Counted> counted_;  // of the last seconds
    std::optional<SteadyTime> hanging_since_;
    SteadyTime settled_{};  // when it was asked last before the last step ended: later reports have its state
    SteadyTime unanswered_at_{};
    std::optional<std::string>
        unanswered_;        // the call of the step under way got no answer, or was refused; its status has more
    bool refused_ = false;  // it was refused
    bool introduced_ = false;
    bool asking_ = false;
    bool asking_events_ = false;  // with that
    bool fresh_ = false;          // the report under way, or here, was asked for by the step under way
    SteadyTime asked_{}, answered_at_{}, report_asked_{};
    SteadyTime seen_{}, seen_before_{};       // of the clock: this step, and the one before it
    std::optional<SteadyTime> silent_since_;  // the first question that has had no answer yet
};

}  // namespace weir::control
