// SPDX-License-Identifier: Apache-2.0
// Everything around a station's logic: one thread that executes its transitions one at a time, a watchdog that reports
// late ones, the control port with its metrics, and what people may ask. The station (station.hpp) knows none of
// it.
//
//     StationFrame::start(station, {.name = "ros-1", .kind = StationKind::readout}, services)
//
// Threads: "frame" (transitions), "watchdog", "http". Requests come from the control port or from any thread of the
// process; a transition that is under way refuses the next one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/service/control_access.hpp"
#include "weir/service/control_messages.hpp"
#include "weir/service/http_server.hpp"
#include "weir/service/monitoring_objects.hpp"
#include "weir/service/state_machine.hpp"
#include "weir/service/station.hpp"
#include "weir/service/station_services.hpp"

namespace weir::service {

/// With which a process ends itself when a stop hangs for good (EX_SOFTWARE).
inline constexpr int exit_hopeless = 70;

/// The fragments of an event that was sampled, which this library cannot read. Error: it is no such event.
using ReadSample = std::function<Result<SampledEvent>(ConstData)>;

struct StationFrameOptions {
    std::string name{};
    StationKind kind = StationKind::readout;
    wire::StationId id{};
    std::string control = "127.0.0.1:0";         // empty: no control port
    std::optional<ControlAccess> access{};       // of the control port
    bool plain = false;                          // without access also where other machines reach it
    bool read_only = false;                      // the control port answers questions, and takes no requests
    std::chrono::milliseconds deadline{30'000};  // of a transition, where neither the request nor the next line has one
    std::map<Transition, std::chrono::milliseconds> deadlines{};
    std::chrono::milliseconds grace{5000};  // a stop that is later than its deadline by this ends the process
    ReadSample read_sample{};  // for GET /sample/object, on the control port's thread; empty: there is no such path
    TapMatches tap_matches{};  // for GET /tap, on the threads that offer events; empty: there is no such path
    std::vector<HttpRoute> routes{};         // further ones of the control port; what they use outlives the frame
    bool asker_reports = false;              // the caller of request() reports what failed: no report of it here
    std::function<void(int)> end_process{};  // how; empty: at once (_exit), since what hangs may hang destructors too
};

struct StationAnswer {
    enum class Outcome {
        done,
        refused,  // not in this state, or another one is under way
        failed,   // the station gives the reason
        late,     // goes on beyond its deadline; its end is seen in the status
    } outcome = Outcome::done;
    StationState state{};
    std::string error{};           // one line, unless done
    std::optional<Error> cause{};  // when it failed
};

class StationFrame {
public:
    /// `station` and `services` outlive the frame. Error: the control port cannot be had.
    [[nodiscard]] static Result<std::unique_ptr<StationFrame>> start(Station& station,
                                                                     const StationFrameOptions& options,
                                                                     const StationServices& services);
    /// Waits for a transition that is under way. The station is left in the state that it has; see wind_down().
    ~StationFrame();
    StationFrame(const StationFrame&) = delete;
    StationFrame& operator=(const StationFrame&) = delete;

    /// "127.0.0.1:41234"; empty: none.
    [[nodiscard]] std::string control_address() const;

    /// Begins; `answered` is called once, from some thread of the frame (or this one), when it has ended, failed, was
    /// refused or is late.
    void request(StationRequest request, std::function<void(const StationAnswer&)> answered);
    /// The same, waiting.
    [[nodiscard]] StationAnswer request(StationRequest request);

    /// From the present state of the station down to initial, waiting for what is under way. Error: the first of those
    /// that failed, the rest was done even so. With one deadline for each step: stop's is `stop_deadline`.
    [[nodiscard]] Result<> wind_down(std::chrono::milliseconds stop_deadline);

    /// The process was asked to end ("exit"). Returns when that happened or after `at_most`.
    [[nodiscard]] bool wait_for_exit(std::chrono::milliseconds at_most) const;

    [[nodiscard]] StationState state() const;
    [[nodiscard]] StationReport report() const;
    [[nodiscard]] std::vector<StateMachine::Step> history() const;

private:
    class Frame;
    explicit StationFrame(std::unique_ptr<Frame> frame);
    std::unique_ptr<Frame> frame_;
};

}  // namespace weir::service
