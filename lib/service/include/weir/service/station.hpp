// SPDX-License-Identifier: Apache-2.0
// What a station is to its frame: what happens at each transition. The frame (StationFrame) has the states, deadlines,
// the control port, metrics, reports, timers and threads; a station has none of these of its own making, and can be
// tested by calling its transitions without the frame.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/duration_histogram.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/service/event_ids.hpp"
#include "weir/service/http_server.hpp"
#include "weir/service/metrics.hpp"
#include "weir/service/reports.hpp"
#include "weir/service/source_masks.hpp"
#include "weir/service/source_status.hpp"
#include "weir/wire/peer.hpp"

namespace weir::service {

enum class StationState { initial, configured, connected, running, paused };
enum class Transition { configure, connect, start, pause, resume, stop, disconnect, unconfigure };
inline constexpr std::array station_states{StationState::initial, StationState::configured, StationState::connected,
                                           StationState::running, StationState::paused};
inline constexpr std::array transitions{Transition::configure,  Transition::connect,    Transition::start,
                                        Transition::pause,      Transition::resume,     Transition::stop,
                                        Transition::disconnect, Transition::unconfigure};

[[nodiscard]] const char* name(StationState state) noexcept;
[[nodiscard]] const char* name(Transition transition) noexcept;
[[nodiscard]] std::optional<StationState> parse_station_state(std::string_view text) noexcept;
[[nodiscard]] std::optional<Transition> parse_transition(std::string_view text) noexcept;
/// Where a transition leads from a state; nothing: it is not allowed there. stop is allowed in running and paused.
[[nodiscard]] std::optional<StationState> after(StationState state, Transition transition) noexcept;

/// Nothing goes uncounted: received = stored + rejected (by reason) + in hand, at any time.
struct StationLedger {
    std::string what = "events";  // what is counted
    std::uint64_t received = 0;
    std::uint64_t stored = 0;  // sent on, or served and cleared: final
    std::map<std::string, std::uint64_t> rejected{};
    std::uint64_t in_hand = 0;

    [[nodiscard]] bool balances() const noexcept;
};

/// How long something that a station does takes; a metric only.
struct StationDurations {
    std::string_view name{};  // "decision": weir_supervise_decision_duration_seconds. A literal, as `help` is
    std::string_view help{};
    Durations durations{};
};

struct StationStatus {
    StationLedger ledger{};
    std::optional<RunNumber> run{};            // where the station itself finds the number (a recorder that runs alone)
    bool finished = false;                     // a source of events has no more to give: run control may stop the run
    std::map<std::string, double> counters{};  // what else people look at: "requests", "re_asked", "robs_lost"
    std::vector<std::string_view> levels{};    // names among `counters` that fall too; the others only grow. Literals
    std::vector<StationDurations> durations{};
    bool metered = false;                 // it collects metrics of its own: `counters` become none
    std::vector<SourceStatus> sources{};  // readouts, builders, processing units; each source once
};

/// The frame calls the transitions one at a time, from one thread of its own; status() from any thread at any time.
/// A transition that takes longer than its deadline is reported by name; stop must end by itself within the deadline it
/// is given; what is in hand is rejected as unfinished, counted by reason.
class Station {
public:
    virtual ~Station() = default;

    [[nodiscard]] virtual Result<> configure() = 0;
    /// How the others reach this one, known after configure(): addresses with the ports that are open.
    [[nodiscard]] virtual Peer self() const = 0;
    [[nodiscard]] virtual Result<> connect(const std::vector<Peer>& peers) = 0;
    /// Also while connected to a partition whose other stations run already (this one was replaced).
    [[nodiscard]] virtual Result<> start(RunNumber run) = 0;
    /// In place of a process that was in this run, and has perhaps ended it.
    [[nodiscard]] virtual Result<> start_again(RunNumber run) { return start(run); }
    [[nodiscard]] virtual Result<> pause() { return {}; }  // no new work; what is in hand goes on
    [[nodiscard]] virtual Result<> resume() { return {}; }
    [[nodiscard]] virtual Result<> stop(std::chrono::milliseconds deadline) = 0;
    [[nodiscard]] virtual Result<> disconnect() = 0;
    [[nodiscard]] virtual Result<> unconfigure() = 0;

    /// Peers have changed while running (one was replaced, its address is another).
    [[nodiscard]] virtual Result<> change_peers(const std::vector<Peer>& peers) = 0;

    /// All masks, before each start and whenever they have changed in a run. Error: they count, but came too late for
    /// some event.
    [[nodiscard]] virtual Result<> set_masks(const std::vector<SourceMask>& masks) {
        static_cast<void>(masks);
        return {};
    }

    [[nodiscard]] virtual StationStatus status() const = 0;

    /// Which events of the run it means, once nothing is in hand; large. From any thread, at the end of a run.
    [[nodiscard]] virtual StationEvents events() const { return {}; }

    /// What its control port answers besides: questions (GET) of its own. Called once, before configure(); they are
    /// asked at any time, on the control port's thread.
    [[nodiscard]] virtual std::vector<HttpRoute> routes() { return {}; }
};

}  // namespace weir::service
