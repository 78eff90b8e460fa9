// SPDX-License-Identifier: Apache-2.0
// The insides of RunControl, under its one lock.
#pragma once

#include <deque>
#include <set>

#include "run/run_phases.hpp"
#include "sources/source_watch.hpp"
#include "station_control.hpp"
#include "weir/control/run_control.hpp"

namespace weir::control {

class RunControl::State {
public:
    State(const Partition& partition, const RunControlOptions& options, const MakeLaunch& launch, Launcher& launcher,
          StationLinks& links, RunKeeper& keeper, Reporter report, LogBook& log, const Clock& clock);

    void step();
    [[nodiscard]] Result<> bring_up();
    [[nodiscard]] Result<> take_over();
    [[nodiscard]] Result<RunNumber> start(const RunRequest& request);
    [[nodiscard]] Result<> pause(service::Transition transition, const std::string& who);
    void stop(const std::string& reason, Drain drain, const std::string& who = "run control");
    [[nodiscard]] Result<> replace_by_command(const std::string& name, const std::string& who);
    [[nodiscard]] Result<> apply(const RunControlOptions& options, const std::vector<std::string>& anew,
                                 const std::function<Result<>()>& put);
    void shut_down(const std::string& reason, const std::string& who);
    void abandon(const std::string& reason);
    /// A stop can still be given a deadline.
    [[nodiscard]] bool stops_without_deadline() const noexcept {
        return state == PartitionState::stopping && !stop_until_;
    }
    [[nodiscard]] Result<> must_be(PartitionState state, std::string_view what) const;
    [[nodiscard]] PartitionView view() const;
    [[nodiscard]] PartitionGlance glance() const { return {state, seconds(), runs_, begins_again_}; }

    [[nodiscard]] Result<> mask_by_command(SourceId source, bool masked, const std::string& who);

    mutable std::mutex mutex;
    PartitionState state = PartitionState::down;

private:
    void time_passage();
    // Phases
    void set_phases(const std::vector<Phase>& phases);
    void advance();
    void begin(const Phase& phase);
    [[nodiscard]] bool waits(const Phase& phase);
    [[nodiscard]] bool close_again(StationControl& station, const std::string& late);
    void stop_again(StationControl& station);
    [[nodiscard]] bool waits_for_assembly();
    [[nodiscard]] bool waits_for_drain();
    [[nodiscard]] bool drained();
    [[nodiscard]] bool drained_without_dfm();
    void drain_over();
    void bound_drain();
    void bound_stop();
    void bound_rest_of_stop();
    void put_off(SteadyTime::duration time);
    [[nodiscard]] std::size_t rank_of_front() const noexcept;
    [[nodiscard]] bool draining() const noexcept { return state == PartitionState::stopping && !drain_over_; }
    [[nodiscard]] bool assembling() const noexcept;
    void phases_done();
    void introduce();
    void end_of_run();
    void begin_again();
    void look_for_run_left_open();
    void note_run();
    void note_changes();
    void end_all();
    void report_files_left(const HandOffAccount& files) const;
    // What another run control left (run_control_take_over.cpp)
    void go_on_with(const RunLeft& left);
    [[nodiscard]] bool waits_for_look(const Phase& phase);
    void taken_over();
    void go_on_with_run();
    // Faults (run_control_faults.cpp)
    void trouble_of(StationControl& station, const StationTrouble& trouble);
    void trouble_in_run(StationControl& station, const StationTrouble& trouble, const std::string& what);
    void trouble_in_drain(StationControl& station, const StationTrouble& trouble, const std::string& what);
    void trouble_in_stop(StationControl& station, const StationTrouble& trouble, const std::string& what);
    void call_again(StationControl& station, const std::string& what);
    [[nodiscard]] std::string too_often(const std::string& what) const;
    [[nodiscard]] bool replace(StationControl& station, const std::string& what);
    void start_again(StationControl& station);
    void replace_what_hangs();
    void look_after_replaced();
    void inform_others(const StationControl& station);
    void replace_what_is_gone();
    void problem(const std::string& what);
    void problem_of(const StationControl& station, const std::string& what);
    [[nodiscard]] bool misses(const StationControl& station) const;
    void report_new_alarms(const StationControl& station);
    void look_at_trigger_unit();
    [[nodiscard]] std::vector<std::string> latched_alarms() const;

    // Sources (run_control_masks.cpp)
    void look_at_sources();
    [[nodiscard]] Result<> mask(SourceId source, bool masked, const std::string& who, const std::string& why);
    void begin_masks();
    [[nodiscard]] Level1Id next_for_masks() const;
    void note_change(RunChange change);
    void report_source(const RunSource& source, const SourceFinding& finding);

    [[nodiscard]] static SourceLimits source_limits(const RunControlOptions& options);
    [[nodiscard]] static StationTimes times_of(const StationEntry& entry, const RunControlOptions& options);
    void mask_those_of_the_file();
    void report(Severity severity, std::string what);
    [[nodiscard]] bool run_active() const noexcept;
    [[nodiscard]] double seconds() const noexcept;
    [[nodiscard]] const StationControl* single(StationKind kind) const noexcept;
    void know(const std::string& name, const Peer& peer);
    void list_peers();
    [[nodiscard]] std::vector<StationResult> results() const;
    [[nodiscard]] RunEvents events() const;

    const Partition& partition_;
    RunControlOptions options_;
    Launcher& launcher_;
    RunKeeper& keeper_;
    const Reporter report_;
    LogBook& log_;
    const Clock& clock_;
    std::vector<std::unique_ptr<StationControl>> stations_;
    SteadyTime now_{};   // goes on only while run control itself does: what it did not see counts as no silence
    SteadyTime seen_{};  // of the clock, at the last step
    PartitionState passing_ = PartitionState::down;  // as of the last step
    SteadyTime passing_since_{};
    std::map<PartitionState, DurationHistogram> passages_;

    std::deque<Phase> phases_;
    bool begun_ = false;                                            // the first of them
    std::map<std::string, Peer> known_;                             // the latest self of each station, and
    std::vector<Peer> peers_;                                       // all of them, in the order of the partition
    bool peers_noted_ = false;                                      // in this run
    std::set<std::string> replacing_;                               // those that come up again
    std::set<std::string> informed_;                                // of those, whose new addresses the others have
    std::set<std::string> not_replaced_;                            // those that died too often
    std::map<std::string, std::set<std::string>> alarms_reported_;  // by station; names of those that are latched
    bool ending_wanted_ = false;
    bool taking_over_ = false;  // it is not known yet how the stations are
    struct StopWish {
        std::string why{}, who{};
    };
    std::optional<StopWish> stop_at_look_;  // the run is to stop when it is

    RunNumber run_{};
    RunEvents events_;  // of the run at its end; before it, the least: as the run control before this one noted them
    RunRequest request_;
    WallTime started_{};
    SteadyTime run_begin_{};                 // of the clock
    bool drain_over_ = false;                // of this stop
    std::optional<SteadyTime> drain_until_;  // then what is not final is abandoned
    std::optional<SteadyTime> stop_until_;   // the whole stop, by an operator or because nothing better can be done
    SteadyTime drain_begun_{};
    std::optional<SteadyTime> dfm_gone_since_;  // in the drain
    enum class TriggerUnit { not_seen, connected, gone };
    TriggerUnit trigger_unit_ = TriggerUnit::not_seen;  // in this run
    std::optional<SteadyTime> trigger_unit_missed_;     // since when it is not connected
    struct Progress {
        std::uint64_t in_hand = 0;
        SteadyTime since{};
    };
    struct Disagreement {
        std::pair<std::uint64_t, std::uint64_t> counts{};  // of events, at the supervisor and at the DFM
        SteadyTime since{};
    };
    std::optional<Disagreement> disagreement_;  // of the drain
    std::optional<Progress> progress_;          // of the drain
    double run_seconds_ = 0;
    std::string stop_reason_;
    std::vector<std::string> problems_;
    std::set<std::string> closing_again_;  // recorders that did not answer at the stop of this run
    std::optional<std::string> failure_;
    std::optional<RunResult> last_;
    std::uint32_t runs_ = 0, bad_runs_ = 0;
    bool begins_again_ = false;
    SteadyTime begin_again_at_{};
    bool head_lost_ = false;    // the supervisor's or DFM's process of this run
    SteadyTime noted_{};        // of the clock
    bool note_failed_ = false;  // it was reported
    SourceWatch watch_;
    struct Mask {
        std::string who{}, why{};
    };
    std::map<SourceId, Mask> masked_;         // now
    std::vector<service::SourceMask> masks_;  // the changes of this run
    RunChanges changes_;                      // of this run
    bool changes_noted_ = false;              // all of them
    std::shared_ptr<const std::vector<RunSource>> sources_ = std::make_shared<const std::vector<RunSource>>();
    SteadyTime sources_looked_{};
    std::set<SourceId> sources_alarmed_;  // in this run, each with an alarm of its own
};

}  // namespace weir::control
