// SPDX-License-Identifier: Apache-2.0
// How the triggers of a run went, as its supervisor counted it: how long there was no room for one, and because of
// whom.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/control/run_limits.hpp"
#include "weir/service/event_ids.hpp"
#include "weir/service/station.hpp"

namespace weir::control {

struct RunResult;
struct StationResult;

/// Triggers from outside with which something was wrong: how many, and their level-1 ids as far as they are known.
struct NamedTriggers {
    std::uint64_t triggers = 0;
    service::EventIds level1_ids{};

    /// "3 lost (level-1 ids 5-7)"; none: empty.
    [[nodiscard]] std::string text(const char* what) const;
};

struct TriggerAccount {
    double running_seconds = 0;                    // triggers were wanted
    std::optional<double> dead_seconds{};          // and there was no room; nothing: they have no times of their own
    std::map<std::string, double> busy_seconds{};  // by cause: "units", or the name of the DFM or a readout
    std::uint64_t in_dead_time = 0;                // triggers that did not happen because of it
    // Of a trigger unit outside, or a plug-in.
    NamedTriggers lost{};           // they never came
    NamedTriggers out_of_order{};   // came behind a later one, and were refused
    NamedTriggers too_far_ahead{};  // likewise; among them some that were no triggers
    NamedTriggers doubled{};        // came again, and were refused that time
    std::uint64_t malformed = 0;    // could not be read, and were refused
    // Of a trigger plug-in: how often its process ended by itself, or was killed because a call did not return.
    std::uint64_t plug_in_crashed = 0, plug_in_hung = 0;

    /// Dead seconds as a share of the running ones.
    [[nodiscard]] std::optional<double> dead_time() const noexcept;
    /// "dead time 12.5 % of 10.0 s, 1,250 triggers in it; busy: ros-1 1.1 s, dfm 0.4 s"; nothing to tell: empty.
    [[nodiscard]] std::string text() const;
    /// "3 lost (level-1 ids 5-7), 1 doubled (level-1 id 9)"; none: empty.
    [[nodiscard]] std::string faults_text() const;
    /// While the run went on; what came at its end, when there was no room any more, is no fault.
    [[nodiscard]] std::uint64_t refused() const noexcept {
        return out_of_order.triggers + too_far_ahead.triggers + doubled.triggers + malformed;
    }
};

/// From the counters of the supervisor, and the ids that it names.
[[nodiscard]] TriggerAccount triggers_of(const std::vector<StationResult>& stations);

/// Of a supervisor: triggers that it received and did not take as events, for any reason.
[[nodiscard]] std::uint64_t refused_of(const service::StationLedger& ledger);

/// Of a supervisor: events that it decided and ids without a trigger, all of which the DFM has received.
[[nodiscard]] std::uint64_t decisions_of(const service::StationLedger& ledger,
                                         const std::map<std::string, double>& counters);

/// Adds a problem when more triggers did not become events than may: each is named; and one for a plug-in that crashed
/// or hung, since nobody knows which triggers are missing.
void check_triggers(RunResult& result, const IncompleteLimit& limit);

}  // namespace weir::control
