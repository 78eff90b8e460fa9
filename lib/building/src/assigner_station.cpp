// SPDX-License-Identifier: Apache-2.0
#include "weir/building/assigner_station.hpp"

#include <algorithm>

#include "weir/transport/loop_calls.hpp"
#include "weir/service/shared_status.hpp"

namespace weir::building {

using namespace std::chrono_literals;

/// The logic, and what its thread tells the others. Its thread runs as long as the station is connected.
class AssignerStation::Logic final : public transport::MessageHandler {
public:
    Logic(const AssignerStationOptions& options, transport::MessageLoop& loop, Reports& reports, SharedStatus& status)
        : loop_(loop), reports_(reports), status_(status), assigner_(options.assigner, loop.exchange()) {}

    /// Before run(), or in the loop.
    void set_peers(const std::vector<Peer>& peers, SteadyTime now) {
        peers_ = peers;
        assigner_.set_peers(peers, now);
    }

    void on_message(const transport::IncomingMessage& message, SteadyTime now) override {
        if (running_) assigner_.on_message(message, now);
    }
    void on_peer(wire::StationId peer, transport::PeerChange change, SteadyTime now) override {
        assigner_.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override {
        const auto next = running_ ? assigner_.step(now) : std::nullopt;
        for (auto& remark : assigner_.take_remarks()) warn(reports_, std::move(remark));
        if (now >= told_ + 50ms || ending_) {
            told_ = now;
            tell();
        }
        return std::min(next.value_or(now + 50ms), now + 50ms);
    }

    Assigner& assigner() noexcept { return assigner_; }
    void run(bool running) noexcept { running_ = running; }
    void end(bool ending) noexcept { ending_ = ending; }
    void tell() {
        const auto& counts = assigner_.counts();
        StationStatus status;
        status.ledger = assigner_.ledger();
        status.counters = {{"accepted", double(counts.accepted)},     {"level2_rejected", double(counts.rejected)},
                           {"stored", double(counts.stored)},         {"incomplete", double(counts.incomplete)},
                           {"reassigned", double(counts.reassigned)}, {"clears_sent", double(counts.clears_sent)},
                           {"waiting", double(counts.waiting)},       {"assigned", double(counts.assigned)},
                           {"repeated", double(counts.repeated)}};
        const auto stats = loop_.stats();
        status.counters["posts_resent"] = double(stats.exchange.posts_resent);
        status.counters["kernel_drops"] = double(stats.kernel_drops);
        status.counters["foreign_address"] = double(stats.foreign_address);
        status_.write(std::move(status), assigner_.idle() && heard_by_all());
    }

private:
    /// What was said is known to those who go on and live. The supervisor has stopped by then: it takes no credit.
    [[nodiscard]] bool heard_by_all() {
        return std::ranges::all_of(peers_, [&](const Peer& peer) {
            return peer.kind == StationKind::supervise || !loop_.exchange().heard(peer.id) || loop_.exchange().posts_under_way(peer.id) == 0;
        });
    }

    transport::MessageLoop& loop_;
    Reports& reports_;
    SharedStatus& status_;
    Assigner assigner_;
    std::vector<Peer> peers_;
    SteadyTime told_{};
    bool running_ = false;  // of the loop's thread
    bool ending_ = false;
};

AssignerStation::AssignerStation(AssignerStationOptions options, Reports& reports, const Clock& clock)
    : options_(std::move(options)), reports_(reports), clock_(clock), status_(std::make_unique<SharedStatus>()) {}

AssignerStation::~AssignerStation() = default;

Result<> AssignerStation::configure() {
    pool_ = std::make_unique<memory::BufferPool>(64_MiB);
    auto loop = transport::MessageLoop::open(options_.loop, *pool_, clock_);
    if (!loop) return std::unexpected(loop.error());
    loop_ = std::move(*loop);
    return {};
}

Peer AssignerStation::self() const {
    return {.name = options_.name, .kind = StationKind::assign, .id = options_.id,
            .dataflow = address_of(options_.loop, loop_.get()),
            .events = {}, .sources = {}, .tcp = options_.link == transport::LinkKind::tcp};
}

Result<> AssignerStation::connect(const std::vector<Peer>& peers) {
    const auto links = links_to(peers, {StationKind::build, StationKind::readout, StationKind::supervise}, options_.link,
                                {StationKind::build, StationKind::readout, StationKind::supervise});
    if (!links) return std::unexpected(links.error());
    if (auto set = loop_->set_peers(*links); !set) return set;
    peers_ = peers;
    logic_ = std::make_unique<Logic>(options_, *loop_, reports_, *status_);
    logic_->set_peers(peers, clock_.now());
    thread_.emplace("dfm", [this](const std::stop_token& stop) { loop_->run(stop, *logic_); });
    return {};
}

Result<> AssignerStation::start(RunNumber run) {
    in_loop(*loop_, [&] {
        loop_->exchange().set_run(run);
        logic_->assigner().start_run();
        logic_->run(true);
        logic_->end(false);
        logic_->tell();
    });
    return {};
}

Result<> AssignerStation::stop(std::chrono::milliseconds deadline) {
    in_loop(*loop_, [&] {
        logic_->end(true);
        logic_->tell();
    });
    static_cast<void>(status_->wait_idle(deadline));
    in_loop(*loop_, [&] {
        logic_->assigner().give_up();
        logic_->run(false);
        logic_->tell();
        loop_->exchange().set_run(RunNumber{0});
    });
    return {};
}

Result<> AssignerStation::disconnect() {
    thread_.reset();
    logic_.reset();
    return {};
}

Result<> AssignerStation::unconfigure() {
    loop_.reset();
    pool_.reset();
    return {};
}

Result<> AssignerStation::change_peers(const std::vector<Peer>& peers) {
    const auto links = links_to(peers, {StationKind::build, StationKind::readout, StationKind::supervise}, options_.link,
                                {StationKind::build, StationKind::readout, StationKind::supervise});
    if (!links) return std::unexpected(links.error());
    Result<> result;
    in_loop(*loop_, [&] {
        result = loop_->set_peers(*links);
        if (result) logic_->set_peers(peers, clock_.now());
    });
    peers_ = peers;
    return result;
}

StationStatus AssignerStation::status() const { return status_->read(); }

}  // namespace weir::building
