// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/supervisor_station.hpp"

#include <algorithm>

#include "weir/selection/selection_unit.hpp"

namespace weir::selection {

/// The logic, and what its thread tells the others.
class SupervisorStation::Logic final : public messaging::StationLogic {
public:
    Logic(const SupervisorStationOptions& options, messaging::StationLoop& loop, service::SharedStatus& status,
          service::Reports& reports, const Clock& clock)
        : loop_(loop), status_(status), reports_(reports), supervisor_(options.supervisor, loop.endpoint(), clock) {}

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        supervisor_.on_message(message, now);
    }
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override {
        supervisor_.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override { return supervisor_.step(now); }
    Supervisor& supervisor() noexcept { return supervisor_; }
    [[nodiscard]] service::StationEvents events() const {
        if (!supervisor_.idle() && !over_) return {};
        return {{"accepted", supervisor_.accepted()}};
    }
    void tell() override {
        for (auto& report : supervisor_.take_reports()) warn(reports_, std::move(report));
        const auto counts = supervisor_.counts();
        service::StationStatus status;
        status.ledger = supervisor_.ledger();
        status.finished = loop_.running() && supervisor_.finished() && heard();  // not that of the run before
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
        status_.write(std::move(status), supervisor_.idle() && heard());
    }

    void start_run(SteadyTime now) {
        over_ = false;
        supervisor_.start_run(now);
    }
    /// The last status of a run. Messages may still be in flight to a DFM that is gone; what was accepted is known.
    void tell_last() {
        over_ = true;
        tell();
    }

private:
    /// The DFM has acknowledged all messages, and so has the pseudo readout unless it is silent. Messages to processing
    /// units do not count: when one dies, no event is lost by that.
    bool heard() const {
        const auto& endpoint = loop_.endpoint();
        const auto assigner = supervisor_.assigner();
        const auto results = supervisor_.results_to();
        return (!assigner || endpoint.reliable_in_flight(*assigner) == 0) &&
               (!results || !endpoint.reachable(*results) ||
                (supervisor_.results_sent() && endpoint.reliable_in_flight(*results) == 0));
    }

    messaging::StationLoop& loop_;
    service::SharedStatus& status_;
    service::Reports& reports_;
    Supervisor supervisor_;
    bool over_ = false;  // the run
};

namespace {

/// Of the readouts it speaks with the one that takes results.
std::vector<Peer> spoken_with(std::vector<Peer> peers) {
    std::erase_if(peers, [](const Peer& one) { return one.kind == StationKind::readout && !is_pseudo_readout(one); });
    return peers;
}

}  // namespace

SupervisorStation::SupervisorStation(SupervisorStationOptions options, service::Reports& reports, const Clock& clock)
    : options_(std::move(options)), reports_(reports), clock_(clock) {}

SupervisorStation::~SupervisorStation() { static_cast<void>(disconnect()); }

Result<> SupervisorStation::configure() {
    const std::vector kinds{StationKind::assign, StationKind::select, StationKind::readout};
    loop_ = WEIR_TRY(messaging::StationLoop::open(
        {.thread = "supervisor", .loop = options_.loop, .link = options_.link, .speaks_with = kinds, .watches = kinds},
        clock_));
    return {};
}

Peer SupervisorStation::self() const {
    return {.name = options_.name,
            .kind = StationKind::supervise,
            .id = options_.id,
            .dataflow = loop_ ? loop_->address() : "",
            .events = {},
            .sources = {},
            .tcp = options_.link == messaging::LinkKind::tcp};
}

Result<> SupervisorStation::connect(const std::vector<Peer>& peers) {
    const std::scoped_lock lock(logic_mutex_);
    logic_ = std::make_unique<Logic>(options_, *loop_, status_, reports_, clock_);
    logic_->supervisor().set_peers(peers, clock_.now());
    return loop_->connect(spoken_with(peers), *logic_);
}

Result<> SupervisorStation::start(RunNumber run) {
    status_.write({}, false);  // who asks from now on asks about this run
    loop_->begin_run(run, [&] { logic_->start_run(clock_.now()); });
    return {};
}

Result<> SupervisorStation::pause() {
    loop_->in_loop([&] { logic_->supervisor().pause(); });
    return {};
}

Result<> SupervisorStation::resume() {
    loop_->in_loop([&] { logic_->supervisor().resume(clock_.now()); });
    return {};
}

Result<> SupervisorStation::stop(std::chrono::milliseconds deadline) {
    loop_->drain([&] { logic_->supervisor().stop(); });
    // A tenth of the time is kept to tell the DFM what is accepted by force.
    if (!status_.wait_idle(deadline * 9 / 10)) {
        loop_->in_loop([&] {
            logic_->supervisor().force_all(clock_.now());
            logic_->tell();
        });
        if (!status_.wait_idle(deadline / 10)) loop_->in_loop([&] { logic_->tell_last(); });
    }
    loop_->end_run();
    return {};
}

Result<> SupervisorStation::disconnect() {
    const std::scoped_lock lock(logic_mutex_);
    if (loop_) loop_->disconnect();
    logic_.reset();
    status_.write({}, false);
    return {};
}

Result<> SupervisorStation::unconfigure() {
    const std::scoped_lock lock(logic_mutex_);
    logic_.reset();  // of a connect() that failed
    loop_.reset();
    return {};
}

Result<> SupervisorStation::change_peers(const std::vector<Peer>& peers) {
    return loop_->change_peers(spoken_with(peers), [&] { logic_->supervisor().set_peers(peers, clock_.now()); });
}

service::StationStatus SupervisorStation::status() const { return status_.read(); }

service::StationEvents SupervisorStation::events() const {
    const std::unique_lock lock(logic_mutex_, std::try_to_lock);
    service::StationEvents events;
    if (lock && logic_) loop_->in_loop([&] { events = logic_->events(); });
    return events;
}

}  // namespace weir::selection
