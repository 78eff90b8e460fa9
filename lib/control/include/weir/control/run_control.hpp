// SPDX-License-Identifier: Apache-2.0
// One state machine for a whole partition: brings its stations up, starts and stops runs in the order of the data flow,
// watches the stations and replaces what dies. Sans-I/O: processes come from a Launcher, calls go through StationLinks,
// and time from a Clock, so that every fault can be tried in milliseconds.
//
// step() is called by one thread, often; everything else may be called from any thread, and returns at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/duration_histogram.hpp"
#include "weir/base/report.hpp"
#include "weir/catalogue/run_record.hpp"
#include "weir/control/launcher.hpp"
#include "weir/control/log_book.hpp"
#include "weir/control/partition.hpp"
#include "weir/control/run_limits.hpp"
#include "weir/control/run_result.hpp"
#include "weir/control/station_link.hpp"

namespace weir::control {

enum class PartitionState {
    down,  // no station runs
    coming_up,
    ready,  // connected; no run
    starting,
    running,
    paused,
    stopping,
    ending,  // the stations have been sent SIGTERM
};
[[nodiscard]] const char* name(PartitionState state) noexcept;

struct RunControlOptions {
    std::chrono::milliseconds poll{200};             // of each station's status
    std::chrono::milliseconds silent_after{10'000};  // a station that answers nothing for so long is replaced
    std::chrono::milliseconds silent_after_single{
        60'000};  // the supervisor or the DFM: there is one, and its end costs events
    std::chrono::milliseconds hanging_after{
        10'000};  // a selection that does not come back for so long has its station replaced
    std::chrono::milliseconds launch_deadline{15'000};
    std::chrono::milliseconds hosts_deadline{120'000};  // before that, for the machine of a station to be there
    std::chrono::milliseconds configure_deadline{15'000};
    std::chrono::milliseconds connect_deadline{15'000};
    std::chrono::milliseconds start_deadline{30'000};  // a recorder recovers what a crash left
    std::chrono::milliseconds pause_deadline{5'000};
    std::chrono::milliseconds stop_deadline{
        60'000};  // of an operator's stop; of what follows the drain when the run ends by itself
    std::chrono::milliseconds exit_deadline{5'000};
    std::uint32_t restarts_max = 5;  // of a station, in restarts_window
    std::chrono::milliseconds restarts_window{60'000};
    bool stop_when_finished = true;
    bool begin_again = false;  // a run, with the same comment and parameters, behind one that lost supervisor or DFM
    IncompleteLimit incomplete_max{};                       // more incomplete events make a run a bad one
    std::chrono::milliseconds source_silent_after{10'000};  // a source that sends nothing for so long has an alarm
    MaskRule mask_after{};
    std::vector<SourceId> masked{};  // from the begin of each run
    Level1Id first_level1_id{1};     // of a run
};

using catalogue::RunChange;

/// With what a run was begun, and what was changed in it so far.
struct RunChanges {
    RunNumber run{};
    WallTime started{};
    std::map<std::string, std::string> parameters{};  // with its comment
    std::vector<RunChange> list{};
    std::uint64_t left_out = 0;  // there were more than are kept
};

/// A run that a run control before this one did not end.
struct RunLeft {
    RunChanges changes{};                         // but for the number, as far as they are known
    std::vector<Peer> peers{};                    // of all stations, as they were noted last
    std::map<std::string, std::string> counts{};  // as they were noted last
};

/// What outlives run control: numbers, parameters and records of runs.
class RunKeeper {
public:
    virtual ~RunKeeper() = default;
    /// A number that no run had.
    [[nodiscard]] virtual Result<RunNumber> next_run() = 0;
    /// What the catalogues have of the run's files.
    [[nodiscard]] virtual Result<HandOffAccount> hand_off(RunNumber run) = 0;
    /// Into the catalogues, which know the run, and into its record, there and beside the files.
    [[nodiscard]] virtual Result<> keep(RunNumber run, const std::map<std::string, std::string>& parameters) = 0;
    /// While a run goes on, now and then: what is known of it when this program is killed.
    [[nodiscard]] virtual Result<> note(RunNumber run, const std::map<std::string, std::string>& parameters) = 0;
    /// From the begin of a run on, and when there are more: into its record, where a run control that comes after this
    /// one finds it. keep() brings it to the others.
    [[nodiscard]] virtual Result<> note(const RunChanges& changes) = 0;
    /// How the stations of the run that goes on reach each other: also those that are away when another run control
    /// takes over.
    [[nodiscard]] virtual Result<> note(RunNumber run, const std::vector<Peer>& peers) = 0;
    /// The run has ended, and is kept.
    virtual void over() = 0;
    [[nodiscard]] virtual Result<std::optional<RunLeft>> left() = 0;
};

struct RunRequest {
    std::string comment{};
    std::map<std::string, std::string> parameters{};
};

/// How a stop treats events that are accepted and not final.
enum class Drain {
    complete,  // waits for all of them: a run that ends by itself
    bounded,   // within the stop's deadline: what is left is abandoned, and listed
};

/// A station whose status was asked for so long without an answer is shown as one that does not answer, without a rate.
inline constexpr std::chrono::seconds silence_shown_after{2};

struct StationView {
    StationEntry entry{};
    std::string state{};  // of the station; "gone", "launching"
    std::string host{};   // empty: this machine, or it is gone
    std::int64_t pid = 0;
    std::string control{};
    std::uint32_t restarts = 0;
    double rate = 0;                         // of what it receives, a second, of late
    service::StationReport report{};         // its counts are of the present run
    double silent_seconds = 0;               // its status was asked for so long without an answer
    std::optional<SteadyTime> counted_at{};  // when it counted that, of the clock; nothing: it counts nothing now
};

struct PartitionView {
    PartitionState state = PartitionState::down;
    RunNumber run{};  // the present one, or the last; 0: none yet
    std::string comment{};
    WallTime started{};
    double seconds = 0;
    std::string stop_reason{};             // of the run that stops or has stopped
    std::optional<std::string> failure{};  // why the partition could not come up or went down
    RunEvents events{};
    std::vector<StationView> stations{};
    std::shared_ptr<const std::vector<RunSource>> sources =
        std::make_shared<const std::vector<RunSource>>();  // of the present run; never changed
    std::vector<RunChange> changes{};                      // of the present run
    std::optional<RunResult> last{};                       // of the last run that ended
    std::uint32_t runs = 0;                                // that ended
    std::uint32_t bad_runs = 0;                            // of those
    std::map<PartitionState, Durations> passages{};        // how long it was coming up, starting, stopping, ending
};

/// What is cheap to ask for.
struct PartitionGlance {
    PartitionState state = PartitionState::down;
    double seconds = 0;         // of the present run, or the last
    std::uint32_t runs = 0;     // that ended
    bool begins_again = false;  // another run, as soon as it can
};

class RunControl {
public:
    using MakeLaunch = std::function<LaunchRequest(const StationEntry& station)>;

    /// All that is passed outlives it.
    RunControl(const Partition& partition, const RunControlOptions& options, const MakeLaunch& launch,
               Launcher& launcher, StationLinks& links, RunKeeper& keeper, Reporter report, LogBook& log,
               const Clock& clock);
    ~RunControl();  // kills what still runs

    void step();

    // Requests: refused when they make no sense in the present state; else begun.
    [[nodiscard]] Result<> bring_up();
    /// As bring_up(), with what a run control before this one left: its stations, as far as the launcher adopts them,
    /// and its run, which goes on. Without any of its stations it is bring_up().
    [[nodiscard]] Result<> take_over();
    [[nodiscard]] Result<RunNumber> start(const RunRequest& request);
    /// `who`: the person who asks, for the changes of the run; empty: nobody is known.
    [[nodiscard]] Result<> pause(const std::string& who = {});
    [[nodiscard]] Result<> resume(const std::string& who = {});
    /// A bounded one also gives its deadline to a complete one that is under way.
    [[nodiscard]] Result<> stop(const std::string& reason, Drain drain = Drain::bounded, const std::string& who = {});
    /// Masks a source, or ends its mask: at once in a run, and in those that follow until it is changed. Errc::usage:
    /// no readout serves it; Errc::refused: it is so already.
    [[nodiscard]] Result<> mask(SourceId source, bool masked, const std::string& who);
    /// Ends a station and starts it again, as when it had died. Errc::usage: there is none of that name.
    [[nodiscard]] Result<> replace(const std::string& station, const std::string& who = {});
    /// Between runs: another partition file with the same stations. Its options count at once, `anew` are the stations
    /// that start again to read it, and `put` puts it where they read it. Errc::refused: not in this state.
    [[nodiscard]] Result<> apply(const RunControlOptions& options, const std::vector<std::string>& anew,
                                 const std::function<Result<>()>& put);
    /// Stops a run that there is, and ends all stations. Never refused.
    void shut_down(const std::string& reason, const std::string& who = {});
    /// Kills all stations at once. A run that there was has its result, from their last answers. Never refused.
    void abandon(const std::string& reason);

    [[nodiscard]] PartitionView view() const;
    [[nodiscard]] PartitionGlance glance() const;

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace weir::control
