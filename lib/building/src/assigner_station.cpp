// SPDX-License-Identifier: Apache-2.0
#include "weir/building/assigner_station.hpp"

#include <algorithm>

namespace weir::building {

/// The logic, and what its thread tells the others.
class AssignerStation::Logic final : public messaging::StationLogic {
public:
    Logic(const AssignerStationOptions& options, messaging::StationLoop& loop, service::Reports& reports,
          service::SharedStatus& status)
        : loop_(loop), reports_(reports), status_(status), assigner_(options.assigner, loop.endpoint()) {}

    void set_peers(const std::vector<Peer>& peers, SteadyTime now) {
        peers_ = peers;
        assigner_.set_peers(peers, now);
    }

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        assigner_.on_message(message, now);
    }
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override {
        assigner_.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override { return assigner_.step(now); }
    Assigner& assigner() noexcept { return assigner_; }
    [[nodiscard]] service::StationEvents events() const {
        if (assigner_.ledger().in_hand > 0) return {};
        const auto& events = assigner_.events();
        return {{"accepted", events.accepted},
                {"rejected", events.rejected},
                {"refused", events.refused},
                {"failed", events.failed},
                {"given up", events.unfinished}};
    }
    void tell() override {
        for (auto& report : assigner_.take_reports()) warn(reports_, std::move(report));
        const auto& counts = assigner_.counts();
        service::StationStatus status;
        status.ledger = assigner_.ledger();
        status.counters = {{"accepted", double(counts.accepted)},     {"level2_rejected", double(counts.rejected)},
                           {"stored", double(counts.stored)},         {"incomplete", double(counts.incomplete)},
                           {"reassigned", double(counts.reassigned)}, {"clears_sent", double(counts.clears_sent)},
                           {"waiting", double(counts.waiting)},       {"assigned", double(counts.assigned)},
                           {"repeated", double(counts.repeated)}};
        const auto stats = loop_.stats();
        status.counters["posts_resent"] = double(stats.endpoint.reliable_resent);
        status.counters["kernel_drops"] = double(stats.kernel_drops);
        status.counters["foreign_address"] = double(stats.foreign_address);
        status_.write(std::move(status), assigner_.idle() && heard_by_all());
    }

private:
    /// What was said is known to those who go on and live. The supervisor has stopped by then: it takes no credit.
    [[nodiscard]] bool heard_by_all() {
        return std::ranges::all_of(peers_, [&](const Peer& peer) {
            return peer.kind == StationKind::supervise || !loop_.endpoint().reachable(peer.id) ||
                   loop_.endpoint().reliable_in_flight(peer.id) == 0;
        });
    }

    messaging::StationLoop& loop_;
    service::Reports& reports_;
    service::SharedStatus& status_;
    Assigner assigner_;
    std::vector<Peer> peers_;
};

AssignerStation::AssignerStation(AssignerStationOptions options, service::Reports& reports, const Clock& clock)
    : options_(std::move(options)), reports_(reports), clock_(clock) {}

AssignerStation::~AssignerStation() { static_cast<void>(disconnect()); }

Result<> AssignerStation::configure() {
    const std::vector kinds{StationKind::build, StationKind::readout, StationKind::supervise};
    loop_ = WEIR_TRY(messaging::StationLoop::open(
        {.thread = "dfm", .loop = options_.loop, .link = options_.link, .speaks_with = kinds, .watches = kinds},
        clock_));
    return {};
}

Peer AssignerStation::self() const {
    return {.name = options_.name,
            .kind = StationKind::assign,
            .id = options_.id,
            .dataflow = loop_ ? loop_->address() : "",
            .events = {},
            .sources = {},
            .tcp = options_.link == messaging::LinkKind::tcp};
}

Result<> AssignerStation::connect(const std::vector<Peer>& peers) {
    const std::scoped_lock lock(logic_mutex_);
    logic_ = std::make_unique<Logic>(options_, *loop_, reports_, status_);
    logic_->set_peers(peers, clock_.now());
    return loop_->connect(peers, *logic_);
}

Result<> AssignerStation::start(RunNumber run) {
    loop_->begin_run(run, [&] { logic_->assigner().start_run(); });
    return {};
}

Result<> AssignerStation::stop(std::chrono::milliseconds deadline) {
    loop_->drain();
    static_cast<void>(status_.wait_idle(deadline));
    loop_->end_run([&] { logic_->assigner().reject_unfinished(); });
    return {};
}

Result<> AssignerStation::disconnect() {
    const std::scoped_lock lock(logic_mutex_);
    if (loop_) loop_->disconnect();
    logic_.reset();
    return {};
}

Result<> AssignerStation::unconfigure() {
    const std::scoped_lock lock(logic_mutex_);
    logic_.reset();  // of a connect() that failed
    loop_.reset();
    return {};
}

Result<> AssignerStation::change_peers(const std::vector<Peer>& peers) {
    return loop_->change_peers(peers, [&] { logic_->set_peers(peers, clock_.now()); });
}

service::StationStatus AssignerStation::status() const { return status_.read(); }

service::StationEvents AssignerStation::events() const {
    const std::unique_lock lock(logic_mutex_, std::try_to_lock);
    service::StationEvents events;
    if (lock && logic_) loop_->in_loop([&] { events = logic_->events(); });
    return events;
}

}  // namespace weir::building
