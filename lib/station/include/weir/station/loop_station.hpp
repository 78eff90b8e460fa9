// SPDX-License-Identifier: Apache-2.0
// The station around a logic that exchanges messages: what each transition of run control means to the loop with the
// sockets (messaging::StationLoop), to the logic and to the status that others ask for. It is the same for the DFM,
// builders, the supervisor and processing units; what differs between them is their logic.
//
//     unconfigured --configure: sockets--> configured --connect: logic, links, thread--> connected --start--> running
//     running --stop: drain, force at nine tenths of the deadline, stop workers, end the run--> connected
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/messaging/station_loop.hpp"
#include "weir/service/shared_status.hpp"
#include "weir/service/station.hpp"
#include "weir/wire/peer.hpp"

namespace weir::station {

/// What a station does from connect to disconnect. The loop's thread makes all calls but
/// await_workers(), stop_workers() and speaks_with(), which the thread of transitions makes, speaks_with() and
/// await_workers() beside the loop's.
class StationLogic : public messaging::LoopLogic {
public:
    /// Whether a peer of a kind that the loop speaks with is linked to. Looks at nothing that other calls change.
    [[nodiscard]] virtual bool speaks_with(const Peer& peer) const {
        static_cast<void>(peer);
        return true;
    }
    /// Before anything else (there is no thread yet), and whenever the peers have changed.
    [[nodiscard]] virtual Result<> set_peers(const std::vector<Peer>& peers, SteadyTime now) = 0;

    /// See service::Station.
    [[nodiscard]] virtual Result<> set_masks(const std::vector<service::SourceMask>& masks) {
        static_cast<void>(masks);
        return {};
    }
    /// A run is about to begin; `again`: in place of a process that was in it. Error: it does not.
    [[nodiscard]] virtual Result<> prepare_run(RunNumber run, bool again) {
        static_cast<void>(run), static_cast<void>(again);
        return {};
    }
    /// Waits for what prepare_run() has begun and which takes long; the loop goes on meanwhile. Error: the run does not
    /// begin, and what was begun has ended.
    [[nodiscard]] virtual Result<> await_workers() { return {}; }
    virtual void start_run(RunNumber run, SteadyTime now) = 0;
    virtual void pause() {}
    virtual void resume(SteadyTime now) { static_cast<void>(now); }

    /// No new work; what is in hand goes on. The station waits until the logic has written that it is idle.
    virtual void drain() {}
    /// Nine tenths of the deadline have passed: decides by force what can be. True: the last tenth is waited for too.
    [[nodiscard]] virtual bool force(SteadyTime now) {
        static_cast<void>(now);
        return true;
    }
    /// By the thread of transitions, when the loop makes no steps any more: waits for workers, which collect() does
    /// not.
    virtual void stop_workers(bool idle, std::chrono::milliseconds deadline) {
        static_cast<void>(idle), static_cast<void>(deadline);
    }
    /// What is in hand is rejected as unfinished, and counted.
    virtual void end_run() = 0;

    /// Which events of the run it means; none while some are in hand.
    [[nodiscard]] virtual service::StationEvents events() const { return {}; }
};

struct LoopStationOptions {
    std::string name{};
    StationKind kind = StationKind::assign;
    wire::StationId id{};
    messaging::StationLoopOptions loop{};
    std::optional<SourceId> first{};  // of a supervisor whose events begin with a fragment of this source
};

class LoopStation : public service::Station {
public:
    /// Makes the logic, at connect(). Loop and status outlive it; it writes its status in publish_status().
    using MakeLogic =
        std::function<std::unique_ptr<StationLogic>(messaging::StationLoop& loop, service::SharedStatus& status)>;
    /// At configure(): opens what the logic needs. Error: it cannot be had.
    using Open = std::function<Result<MakeLogic>()>;

    /// The clock outlives the station.
    LoopStation(LoopStationOptions options, Open open, const Clock& clock);
    ~LoopStation() override;

    [[nodiscard]] Result<> configure() final;
    [[nodiscard]] Peer self() const final;
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers) final;
    [[nodiscard]] Result<> start(RunNumber run) final { return begin(run, false); }
    [[nodiscard]] Result<> start_again(RunNumber run) final { return begin(run, true); }
    [[nodiscard]] Result<> pause() final;
    [[nodiscard]] Result<> resume() final;
    /// Waits until nothing is in hand; what remains at the deadline is rejected as unfinished.
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline) final;
    [[nodiscard]] Result<> disconnect() final;
    [[nodiscard]] Result<> unconfigure() final;
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers) final;
    [[nodiscard]] Result<> set_masks(const std::vector<service::SourceMask>& masks) final;
    [[nodiscard]] service::StationStatus status() const final { return status_.read(); }
    [[nodiscard]] service::StationEvents events() const final;

private:
    [[nodiscard]] Result<> begin(RunNumber run, bool again);
    [[nodiscard]] std::vector<Peer> spoken_with(const std::vector<Peer>& peers) const;

    const LoopStationOptions options_;
    const Open open_;
    const Clock& clock_;
    service::SharedStatus status_;  // also before and after there is a logic
    MakeLogic make_logic_;          // while configured
    std::unique_ptr<messaging::StationLoop> loop_;
    mutable std::mutex logic_mutex_;       // held while the logic comes or goes, and by who asks it from another thread
    std::unique_ptr<StationLogic> logic_;  // while connected
};

}  // namespace weir::station
