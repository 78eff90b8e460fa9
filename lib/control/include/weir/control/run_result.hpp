// SPDX-License-Identifier: Apache-2.0
// What became of a run: every station's ledger, what they sum up to, and each reason why all is not well.
// What is lost, or in files twice, is known by global id: the supervisor has what it accepted, and the recorders what
// is in files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/control/run_limits.hpp"
#include "weir/control/run_triggers.hpp"
#include "weir/service/event_ids.hpp"
#include "weir/service/source_status.hpp"
#include "weir/service/station.hpp"
#include "weir/wire/peer.hpp"

namespace weir::control {

struct StationResult {
    std::string name{};
    StationKind kind = StationKind::readout;
    service::StationLedger ledger{};
    std::map<std::string, double> counters{};
    std::shared_ptr<const service::StationEvents>
        events{};                // of its answer at the end of the run; nothing: there was none
    std::uint32_t restarts = 0;  // a process that died took its part of the ledger with it
    bool gone = false;           // there was no process any more at the end: the numbers are those of its last answer
    bool handed_over = false;    // of a recorder: a hand-off of the partition hands its files over
    std::vector<service::SourceStatus> sources{};  // also what its processes before had counted
};

/// One source over all stations of a run.
struct RunSource {
    service::SourceStatus counts{};    // of readouts; expected, missing and masked: of builders
    std::uint64_t missing_level2 = 0;  // not there when a processing unit asked for it
    std::string readout{};             // that serves it; empty: none is known
    bool masked = false;               // now, or at the end
    bool silent = false;               // now
};
/// Summed up over the stations, in the order of the ids.
[[nodiscard]] std::vector<RunSource> sources_of(const std::vector<StationResult>& stations,
                                                const std::vector<Peer>& peers);
/// "0x420000 of ros-1"
[[nodiscard]] std::string name(const RunSource& source);
/// At most so many, those that miss most before others; in the order of the ids.
[[nodiscard]] std::vector<RunSource> worst(const std::vector<RunSource>& sources, std::size_t at_most);

struct RunEvents {
    std::uint64_t triggers = 0, accepted = 0, rejected = 0;  // of the supervisor; refused triggers do not count
    std::uint64_t built = 0, incomplete = 0;                 // of the DFM: final downstream; among them with empty ROBs
    std::uint64_t recorded = 0;                              // in files, at each recorder
};

/// Accepted events against recorded ones, by global id.
struct EventAccount {
    std::uint64_t accepted = 0, recorded = 0,
                  rejected = 0;  // recorded: each once; rejected: downstream of the builders
    struct Lost {
        std::string cause{};
        service::EventIds events{};
    };
    std::vector<Lost> lost{};        // accepted, not rejected, and in no file
    service::EventIds twice{};       // in the files of more than one recorder
    service::EventIds unaccepted{};  // in files, and never accepted

    [[nodiscard]] bool good() const noexcept { return lost.empty() && twice.empty() && unaccepted.empty(); }
};

/// The files of a run in the catalogues of the recorders that have a hand-off: closed = handed over + left. Of those
/// left no hand-off hands over the quarantined ones and those without a sum: they stay where they are.
struct HandOffAccount {
    static constexpr std::size_t names_max = 10;
    std::uint64_t closed = 0, handed_over = 0, left = 0;
    std::uint64_t quarantined = 0, without_sum = 0;  // among those left
    std::vector<std::string> names{};                // of the first that go later
    std::vector<std::string> names_kept{};           // of the first that stay

    /// Those that go later: "3 of 25 files are not handed over yet: a, b, c"; there are none: empty.
    [[nodiscard]] std::string later_text() const;
    /// Those that stay: "2 of 25 files are not handed over and stay here, 1 quarantined, 1 without a sum: d, e".
    [[nodiscard]] std::string kept_text() const;
};

/// Of all units and filters: events that were kept because their selection failed, by how; and where one hangs still.
struct SelectionFaults {
    std::uint64_t threw = 0, timed_out = 0, crashed = 0;
    std::uint64_t unjudged = 0;  // accepted by the supervisor because their unit died or fell silent
    std::uint64_t hanging = 0;

    [[nodiscard]] std::uint64_t forced() const noexcept { return threw + timed_out + crashed + unjudged; }
};

struct RunResult {
    RunNumber run{};
    std::string reason{};  // why it stopped
    double seconds = 0;
    RunEvents events{};
    std::uint64_t files = 0, bytes_stored = 0;
    std::vector<StationResult> stations{};
    std::vector<RunSource> sources{};
    std::vector<std::string> problems{};  // one line each; none: all is well
    SelectionFaults selection{};
    TriggerAccount triggers{};
    std::optional<EventAccount>
        account{};  // nothing: not known; the problems have the reason, unless recorders do not know ids at all
    std::optional<HandOffAccount> hand_off{};  // nothing: there is no hand-off, or a catalogue cannot be read
    std::vector<std::string> alarms{};         // that stations had latched at the end, one line each

    [[nodiscard]] bool good() const noexcept { return problems.empty(); }
};

/// The larger one of each count.
[[nodiscard]] RunEvents at_least(const RunEvents& least, const RunEvents& events);

/// Sums over the stations.
[[nodiscard]] RunEvents events_of(const std::vector<StationResult>& stations);
[[nodiscard]] SelectionFaults selection_faults_of(const std::vector<StationResult>& stations);

/// Fills `events`, `account`, `selection`, `triggers`, `files` and `bytes_stored`, and adds a problem for each ledger
/// that does not balance: of a station by itself, and between neighbours where no process died with its counts.
void balance(RunResult& result);

/// Adds a problem when more events are incomplete than may be: with the sources that were missing, and their numbers.
void check_incomplete(RunResult& result, const IncompleteLimit& limit);

}  // namespace weir::control
