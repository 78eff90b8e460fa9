// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/supervisor_station.hpp"

#include <algorithm>

#include "weir/selection/selection_unit.hpp"
#include "weir/transport/loop_calls.hpp"

namespace weir::selection {

using namespace std::chrono_literals;

/// The logic, and what its thread tells the others. Its thread runs as long as the station is connected.
class SupervisorStation::Logic final : public transport::MessageHandler {
public:
    Logic(const SupervisorStationOptions& options, transport::MessageLoop& loop, SharedStatus& status, Reports& reports,
          const Clock& clock)
        : loop_(loop), status_(status), reports_(reports), supervisor_(options.supervisor, loop.exchange(), clock) {}

    void on_message(const transport::IncomingMessage& message, SteadyTime now) override {
        if (running_) supervisor_.on_message(message, now);
    }
    void on_peer(wire::StationId peer, transport::PeerChange change, SteadyTime now) override {
        supervisor_.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override {
        const auto next = running_ ? supervisor_.step(now) : std::nullopt;
        if (now >= told_ + 50ms || ending_) {
            told_ = now;
            tell();
        }
        return std::min(next.value_or(now + 50ms), now + 50ms);
    }

    Supervisor& supervisor() noexcept { return supervisor_; }
    void run(bool running) noexcept { running_ = running; }
    void end(bool ending) noexcept { ending_ = ending; }
    void tell() {
        for (auto& remark : supervisor_.take_remarks()) warn(reports_, std::move(remark));
        const auto counts = supervisor_.counts();
        StationStatus status;
        status.ledger = supervisor_.ledger();
        status.finished = running_ && supervisor_.finished() && heard();  // not that of the run before
        status.counters = {{"accepted", double(counts.accepted)},
                           {"rejected", double(counts.rejected)},
                           {"forced", double(counts.forced)},
                           {"given_again", double(counts.given_again)},
                           {"timed_out", double(counts.timed_out)},
                           {"units_lost", double(counts.units_lost)},
                           {"late_verdicts", double(counts.late_verdicts)},
                           {"empty_results", double(counts.empty_results)},
                           {"told_again", double(counts.told_again)},
                           {"at_units", double(counts.at_units)},
                           {"waits_for_units", double(counts.waits_for_units)},
                           {"waits_for_assigner", double(counts.waits_for_assigner)},
                           {"decision_seconds", counts.latency_seconds},
                           {"unexpected", double(counts.unexpected)},
                           {"malformed", double(counts.malformed)}};
        const auto stats = loop_.stats();
        status.counters["posts_resent"] = double(stats.exchange.posts_resent);
        status.counters["kernel_drops"] = double(stats.kernel_drops);
        status.counters["foreign_address"] = double(stats.foreign_address);
        status_.write(std::move(status), supervisor_.idle() && heard());
    }

private:
    /// By the DFM, and by the pseudo readout unless it is away. What a dead unit did not acknowledge is nobody's loss.
    bool heard() const {
        const auto& exchange = loop_.exchange();
        const auto assigner = supervisor_.assigner();
        const auto results = supervisor_.results_to();
        return (!assigner || exchange.posts_under_way(*assigner) == 0) &&
               (!results || !exchange.heard(*results) || (supervisor_.results_told() && exchange.posts_under_way(*results) == 0));
    }

    transport::MessageLoop& loop_;
    SharedStatus& status_;
    Reports& reports_;
    Supervisor supervisor_;
    SteadyTime told_{};
    bool running_ = false;  // of the loop's thread
    bool ending_ = false;
};

namespace {

Result<std::vector<transport::LinkPeer>> links(const std::vector<Peer>& peers, transport::LinkKind link) {
    auto ours = peers;
    std::erase_if(ours, [](const Peer& peer) { return peer.kind == StationKind::readout && !is_pseudo_readout(peer); });
    const auto kinds = {StationKind::assign, StationKind::select, StationKind::readout};
    return links_to(ours, kinds, link, kinds);
}

}  // namespace

SupervisorStation::SupervisorStation(SupervisorStationOptions options, Reports& reports, const Clock& clock)
    : options_(std::move(options)), reports_(reports), clock_(clock) {}

SupervisorStation::~SupervisorStation() = default;

Result<> SupervisorStation::configure() {
    pool_ = std::make_unique<memory::BufferPool>(64_MiB);
    auto loop = transport::MessageLoop::open(options_.loop, *pool_, clock_);
    if (!loop) return std::unexpected(loop.error());
    loop_ = std::move(*loop);
    return {};
}

Peer SupervisorStation::self() const {
    return {.name = options_.name, .kind = StationKind::supervise, .id = options_.id, .dataflow = address_of(options_.loop, loop_.get()),
            .events = {}, .sources = {}, .tcp = options_.link == transport::LinkKind::tcp};
}

Result<> SupervisorStation::connect(const std::vector<Peer>& peers) {
    const auto all = links(peers, options_.link);
    if (!all) return std::unexpected(all.error());
    if (auto set = loop_->set_peers(*all); !set) return set;
    logic_ = std::make_unique<Logic>(options_, *loop_, status_, reports_, clock_);
    logic_->supervisor().set_peers(peers, clock_.now());
    thread_.emplace("supervisor", [this](const std::stop_token& stop) { loop_->run(stop, *logic_); });
    return {};
}

Result<> SupervisorStation::start(RunNumber run) {
    status_.write({}, false);  // who asks from now on asks about this run
    in_loop(*loop_, [&] {
        loop_->exchange().set_run(run);
        logic_->supervisor().start_run(clock_.now());
        logic_->run(true);
        logic_->end(false);
        logic_->tell();
    });
    return {};
}

Result<> SupervisorStation::pause() {
    in_loop(*loop_, [&] { logic_->supervisor().pause(); });
    return {};
}

Result<> SupervisorStation::resume() {
    in_loop(*loop_, [&] { logic_->supervisor().resume(clock_.now()); });
    return {};
}

Result<> SupervisorStation::stop(std::chrono::milliseconds deadline) {
    in_loop(*loop_, [&] {
        logic_->supervisor().stop();
        logic_->end(true);
        logic_->tell();
    });
    // A tenth of the time is kept to tell the DFM what is accepted by force.
    if (!status_.wait_idle(deadline * 9 / 10)) {
        in_loop(*loop_, [&] {
            logic_->supervisor().force_all(clock_.now());
            logic_->tell();
        });
        static_cast<void>(status_.wait_idle(deadline / 10));
    }
    in_loop(*loop_, [&] {
        logic_->run(false);
        logic_->tell();
        loop_->exchange().set_run(RunNumber{0});
    });
    return {};
}

Result<> SupervisorStation::disconnect() {
    thread_.reset();
    logic_.reset();
    status_.write({}, false);
    return {};
}

Result<> SupervisorStation::unconfigure() {
    loop_.reset();
    pool_.reset();
    return {};
}

Result<> SupervisorStation::change_peers(const std::vector<Peer>& peers) {
    const auto all = links(peers, options_.link);
    if (!all) return std::unexpected(all.error());
    Result<> result;
    in_loop(*loop_, [&] {
        result = loop_->set_peers(*all);
        if (result) logic_->supervisor().set_peers(peers, clock_.now());
    });
    return result;
}

StationStatus SupervisorStation::status() const { return status_.read(); }

}  // namespace weir::selection
