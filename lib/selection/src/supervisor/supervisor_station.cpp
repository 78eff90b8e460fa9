// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/supervisor_station.hpp"

#include <algorithm>

#include "weir/selection/selection_unit.hpp"

namespace weir::selection {

namespace {

/// The logic, and what its thread reports to the others.
class SupervisorLogic final : public station::StationLogic {
public:
    SupervisorLogic(const SupervisorOptions& options, messaging::StationLoop& loop, service::SharedStatus& status,
                    Reporter report, const Clock& clock)
        : loop_(loop), status_(status), supervisor_(options, loop.endpoint(), clock, std::move(report)) {}

    /// Of the readouts with the one that takes results.
    bool speaks_with(const Peer& peer) const override {
        return peer.kind != StationKind::readout || is_pseudo_readout(peer);
    }
    Result<> set_peers(const std::vector<Peer>& peers, SteadyTime now) override {
        supervisor_.set_peers(peers, now);
        return {};
    }
    void start_run(RunNumber, SteadyTime now) override {
        over_ = false;
        supervisor_.start_run(now);
    }
    void pause() override { supervisor_.pause(); }
    void resume(SteadyTime now) override { supervisor_.resume(now); }
    void drain() override { supervisor_.stop(); }
    /// The rest of the time is kept to send the DFM what is accepted by force.
    bool force(SteadyTime now) override {
        supervisor_.force_all(now);
        return true;
    }
    /// Messages may still be in flight to a DFM that is gone; what was accepted is known.
    void end_run() override { over_ = true; }

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        supervisor_.on_message(message, now);
    }
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override {
        supervisor_.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override { return supervisor_.step(now); }
    service::StationEvents events() const override {
        if (!supervisor_.idle() && !over_) return {};
        return {{"accepted", supervisor_.accepted()}};
    }
    void publish_status() override {
        const auto counts = supervisor_.counts();
        service::StationStatus status;
        status.ledger = supervisor_.ledger();
        status.finished =
            loop_.running() && supervisor_.finished() && all_acknowledged();  // not that of the run before
        status.counters = {{"accepted", double(counts.accepted)},
                           {"rejected", double(counts.rejected)},
                           {"forced", double(counts.forced)},
                           {"given_again", double(counts.reassigned)},
                           {"timed_out", double(counts.timed_out)},
                           {"units_lost", double(counts.units_lost)},
                           {"late_verdicts", double(counts.late_verdicts)},
                           {"empty_results", double(counts.empty_results)},
                           {"told_again", double(counts.resent)},
                           {"at_units", double(counts.at_units)},
                           {"waits_for_units", double(counts.waits_for_units)},
                           {"waits_for_assigner", double(counts.waits_for_assigner)},
                           {"decision_seconds", counts.latency_seconds},
                           {"unexpected", double(counts.unexpected)},
                           {"malformed", double(counts.malformed)}};
        const auto stats = loop_.stats();
        status.counters["posts_resent"] = double(stats.endpoint.reliable_resent);
        status.counters["kernel_drops"] = double(stats.kernel_drops);
        status.counters["foreign_address"] = double(stats.foreign_address);
        status_.write(std::move(status), supervisor_.idle() && all_acknowledged());
    }

private:
    /// The DFM has acknowledged all messages, and so has the pseudo readout unless it is silent. Messages to processing
    /// units do not count: when one dies, no event is lost by that.
    bool all_acknowledged() const {
        const auto& endpoint = loop_.endpoint();
        const auto assigner = supervisor_.assigner();
        const auto results = supervisor_.results_to();
        return (!assigner || endpoint.reliable_in_flight(*assigner) == 0) &&
               (!results || !endpoint.reachable(*results) ||
                (supervisor_.results_sent() && endpoint.reliable_in_flight(*results) == 0));
    }

    messaging::StationLoop& loop_;
    service::SharedStatus& status_;
    Supervisor supervisor_;
    bool over_ = false;  // the run
};

station::LoopStationOptions around(const SupervisorStationOptions& options) {
    const std::vector kinds{StationKind::assign, StationKind::select, StationKind::readout};
    return {.name = options.name,
            .kind = StationKind::supervise,
            .id = options.id,
            .loop = {.thread = "supervisor",
                     .loop = options.loop,
                     .link = options.link,
                     .speaks_with = kinds,
                     .watches = kinds}};
}

}  // namespace

SupervisorStation::SupervisorStation(SupervisorStationOptions options, Reporter report, const Clock& clock)
    : LoopStation(
          around(options),
          [supervisor = options.supervisor, report = std::move(report), &clock]() -> Result<MakeLogic> {
              return [&supervisor, &report, &clock](messaging::StationLoop& loop, service::SharedStatus& status) {
                  return std::make_unique<SupervisorLogic>(supervisor, loop, status, report, clock);
              };
          },
          clock) {}

}  // namespace weir::selection
