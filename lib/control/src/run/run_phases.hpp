// SPDX-License-Identifier: Apache-2.0
// In which order a partition's stations go through their transitions, and how the time of a stop is shared out. Events
// flow from the supervisor to the recorders: a station that receives is started before those that send to it, and
// stopped after them. The hand-off looks only at files: it starts when a recorder has a catalogue and all events flow,
// and stops when all of them are recorded. A monitor sees some events that pass, and starts and stops last. A stop
// begins with the drain: no more triggers, and all stations go on until every accepted event is final. While it lasts a
// station that fails is replaced as in a run. Only then the stations stop, one kind after the other.
#pragma once

#include <optional>
#include <vector>

#include "station_control.hpp"
#include "weir/control/run_control.hpp"

namespace weir::control {

struct Phase {
    enum class What {
        step,      // stations go through `step`
        look,      // until every station that was adopted has said how it is
        assemble,  // until every station is connected
        drain,     // until every accepted event is final
    } what = What::step;
    StationStep step{};
    std::optional<StationKind> kind{};     // nothing: all stations at once
    std::optional<SteadyTime> until{};     // of a stop or look: a station that is not done by then is ended
    bool introduces = false;               // the peers of all stations are known, and so whether they fit together
    std::chrono::milliseconds patience{};  // beyond `until`; what is used of it postpones the later phases
};

[[nodiscard]] std::vector<Phase> phases_up(const RunControlOptions& options);
[[nodiscard]] std::vector<Phase> phases_start(const RunControlOptions& options);
/// No more triggers, and the drain.
[[nodiscard]] std::vector<Phase> phases_drain(const RunControlOptions& options, Drain drain);
/// They end at `until`, later only by what the supervisor and the DFM use of `patience`: there is one of each, and only
/// they know what became of the events. A kind that is done early leaves its time to those behind it.
[[nodiscard]] std::vector<Phase> phases_stop(SteadyTime now, SteadyTime until, std::chrono::milliseconds patience);
/// How much of the time of a stop the drain has.
[[nodiscard]] std::chrono::milliseconds drain_share(const RunControlOptions& options) noexcept;
/// Of the supervisor only: without triggers the others have nothing new to do.
[[nodiscard]] std::vector<Phase> phases_pause(const RunControlOptions& options, service::Transition transition);

/// What a station that was replaced goes through.
[[nodiscard]] std::vector<StationStep> steps_of_replacement(const RunControlOptions& options, bool run);

/// No run waits for a station of this kind until it works, ends for its sake, or is bad.
[[nodiscard]] constexpr bool dispensable(StationKind kind) noexcept {
    return kind == StationKind::handoff || kind == StationKind::monitor;
}

/// How long a process of this kind has from SIGTERM to its end, before SIGKILL.
[[nodiscard]] std::chrono::milliseconds exit_grace(const RunControlOptions& options, StationKind kind) noexcept;

/// Its place in the order of a stop, from 0 on.
[[nodiscard]] std::size_t stop_rank(StationKind kind) noexcept;

}  // namespace weir::control
