// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/supervisor_station.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "triggers/outside/trigger_server.hpp"
#include "triggers/plug_in/trigger_process.hpp"
#include "weir/selection/selection_unit.hpp"

namespace weir::selection {

namespace {

/// A plug-in that brings the triggers.
struct PlugIn {
    plugin::PlugInProgram file;
    PlugInTriggers triggers;
};

/// The logic, and what its thread reports to the others.
class SupervisorLogic final : public station::StationLogic {
public:
    SupervisorLogic(const SupervisorOptions& options, std::shared_ptr<TriggerServer> server,
                    std::shared_ptr<PlugIn> plug_in, messaging::StationLoop& loop, service::SharedStatus& status,
                    const Reporter& report, const Clock& clock)
        : loop_(loop),
          status_(status),
          report_(report),
          clock_(clock),
          server_(std::move(server)),
          plug_in_(std::move(plug_in)),
          first_(options.triggers.source),
          counts_ids_(server_ || plug_in_ || options.triggers.kind == TriggerKind::first),
          supervisor_(server_    ? Supervisor(options, loop.endpoint(), server_->triggers(), report)
                      : plug_in_ ? Supervisor(options, loop.endpoint(), plug_in_->triggers, report)
                                 : Supervisor(options, loop.endpoint(), clock, report)) {}
    ~SupervisorLogic() override { end_input(); }

    /// Of the readouts with the one that takes results, and with those that may be busy.
    bool speaks_with(const Peer& peer) const override {
        return peer.kind != StationKind::readout || is_pseudo_readout(peer) || peer.busy;
    }
    Result<> set_peers(const std::vector<Peer>& peers, SteadyTime now) override {
        supervisor_.set_peers(peers, now);
        if (!supervisor_.has_first_source())
            return fail(Errc::usage, fmt::format("events begin with fragments of source 0x{:06x}, and no readout that "
                                                 "is filled from outside serves it",
                                                 number(first_)));
        return {};
    }
    Result<> prepare_run(RunNumber run, bool) override {
        if (plug_in_) process_.emplace(plug_in_->file, run, plug_in_->triggers, report_, [this] { loop_.call([] {}); });
        return {};
    }
    /// Its begin_run has returned: it may send from start_run() on.
    Result<> await_workers() override {
        if (!process_) return {};
        auto begun = process_->begin();
        if (begun) return {};
        process_->end();
        process_->join();
        return fail(begun.error().code,
                    fmt::format("the trigger plug-in {}: {}", plug_in_->file.spec.file, begun.error().context));
    }
    void start_run(RunNumber run, SteadyTime now) override {
        over_ = false;
        supervisor_.start_run(now);
        if (server_) server_->start_run(run, [this] { loop_.call([] {}); });
    }
    void pause() override { supervisor_.pause(clock_.now()); }
    void resume(SteadyTime now) override { supervisor_.resume(now); }
    void drain() override {
        supervisor_.stop(clock_.now());
        end_input();
    }
    /// The rest of the time is kept to send the DFM what is accepted by force.
    bool force(SteadyTime now) override {
        supervisor_.force_all(now);
        return true;
    }
    void stop_workers(bool, std::chrono::milliseconds) override {
        if (process_) process_->join();  // its end_run has its own limit
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
        auto events = supervisor_.trigger_faults();
        events.emplace("accepted", supervisor_.accepted());
        return events;
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
                           {"regions_failed", double(counts.regions_failed)},
                           {"triggers_not_sent", double(supervisor_.triggers_not_sent())},
                           {"at_units", double(counts.at_units)},
                           {"waits_for_units", double(counts.waits_for_units)},
                           {"waits_for_assigner", double(counts.waits_for_assigner)},
                           {"decision_seconds", counts.latency_seconds},
                           {"unexpected", double(counts.unexpected)},
                           {"malformed", double(counts.malformed)}};
        status.levels = {"at_units",          "decision_seconds",     "triggers_complete",
                         "input_connections", "input_blocks_waiting", "trigger_plug_in_waiting"};
        status.durations = {{"decision", "from giving an event to a unit to its verdict", supervisor_.durations()}};
        const auto triggers = supervisor_.triggers();
        status.counters["triggers_in_dead_time"] = double(triggers.dead_time);
        if (counts_ids_) add_order(triggers, counts.skipped, status);
        if (server_) add_input(status);
        if (process_) add_plug_in(status);
        const auto busy = supervisor_.busy_times();
        status.counters["running_seconds"] = busy.running;
        if (busy.dead) status.counters["dead_seconds"] = *busy.dead;
        for (const auto& [cause, seconds] : busy.by_cause) status.counters["busy_seconds " + cause] = seconds;
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

    /// No trigger comes in any more; those that wait are refused.
    void end_input() {
        if (server_) server_->end_run();
        if (process_) process_->end();
    }
    static void add_order(const TriggerCounts& triggers, std::uint64_t skipped, service::StationStatus& status) {
        status.counters["triggers_lost"] = double(triggers.lost);
        status.counters["triggers_doubled"] = double(triggers.doubled);
        status.counters["triggers_out_of_order"] = double(triggers.out_of_order);
        status.counters["triggers_too_far_ahead"] = double(triggers.too_far_ahead);
        status.counters["level1_ids_skipped"] = double(skipped);
    }
    void add_input(service::StationStatus& status) const {
        const auto stats = server_->stats();
        status.counters["triggers_complete"] = supervisor_.all_made() ? 1 : 0;
        status.counters["input_port"] = double(server_->port());
        status.counters["input_connections"] = double(stats.receiver.connections);
        status.counters["input_blocks"] = double(stats.blocks);
        status.counters["input_blocks_malformed"] = double(stats.blocks_malformed);
        status.counters["input_blocks_waiting"] = double(stats.waiting);
        status.counters["input_records"] = double(stats.records);
        status.counters["input_refused"] = double(stats.refused);
        status.counters["input_bytes"] = double(stats.receiver.bytes);
    }
    void add_plug_in(service::StationStatus& status) const {
        const auto stats = process_->stats();
        status.counters["trigger_plug_in_waiting"] = double(plug_in_->triggers.waiting());
        status.counters["trigger_plug_in_threw"] = double(stats.threw);
        status.counters["trigger_plug_in_hung"] = double(stats.hung);
        status.counters["trigger_plug_in_crashed"] = double(stats.crashed);
        status.counters["trigger_plug_in_restarts"] = double(stats.restarts);
    }

    messaging::StationLoop& loop_;
    service::SharedStatus& status_;
    const Reporter& report_;
    const Clock& clock_;
    // Shared with the station, which has it from configure on; at most one is not null.
    const std::shared_ptr<TriggerServer> server_;
    const std::shared_ptr<PlugIn> plug_in_;
    std::optional<TriggerProcess> process_;  // of the run, or the last one
    const SourceId first_;                   // that events begin with, if they do
    const bool counts_ids_;                  // of triggers from outside
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
                     .watches = kinds},
            .first = options.supervisor.triggers.kind == TriggerKind::first
                         ? std::optional(options.supervisor.triggers.source)
                         : std::nullopt};
}

}  // namespace

SupervisorStation::SupervisorStation(SupervisorStationOptions options, Reporter report, const Clock& clock)
    : LoopStation(
          around(options),
          [supervisor = options.supervisor, input = options.input, plug_in = options.plug_in,
           report = std::move(report), &clock]() -> Result<MakeLogic> {
              std::shared_ptr<TriggerServer> server;
              if (input) server = WEIR_TRY(TriggerServer::open(*input, supervisor.first_level1, report, clock));
              std::shared_ptr<PlugIn> code;
              if (plug_in) {
                  auto spec = *plug_in;
                  spec.clock = &clock;
                  code.reset(new PlugIn{WEIR_TRY(open_trigger_plug_in(spec)), {supervisor.first_level1, report}});
              }
              return [&supervisor, &report, &clock, server, code](messaging::StationLoop& loop,
                                                                  service::SharedStatus& status) {
                  return std::make_unique<SupervisorLogic>(supervisor, server, code, loop, status, report, clock);
              };
          },
          clock) {}

}  // namespace weir::selection
