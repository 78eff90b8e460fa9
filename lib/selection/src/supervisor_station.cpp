// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/supervisor_station.hpp"

#include <algorithm>

#include "loop_calls.hpp"
#include "station_status.hpp"

namespace weir::selection {

using namespace std::chrono_literals;

/// The logic, and what its thread tells the others. Its thread runs as long as the station is connected.
class SupervisorStation::Logic final : public transport::MessageHandler {
public:
    Logic(const SupervisorStationOptions& options, transport::MessageLoop& loop, Reports& reports, const Clock& clock)
        : loop_(loop), reports_(reports), supervisor_(options.supervisor, loop.exchange(), clock) {}

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
    SharedStatus& status() noexcept { return status_; }
    void run(bool running) noexcept { running_ = running; }
    void end(bool ending) noexcept { ending_ = ending; }
    void tell() {
        for (auto& remark : supervisor_.take_remarks()) warn(reports_, std::move(remark));
        const auto counts = supervisor_.counts();
        const bool heard = loop_.exchange().posts_under_way() == 0;
        StationStatus status;
        status.ledger = supervisor_.ledger();
        status.finished = supervisor_.finished() && heard;
        status.counters = {{"accepted", double(counts.accepted)},
                           {"rejected", double(counts.rejected)},
                           {"forced", double(counts.forced)},
                           {"given_again", double(counts.given_again)},
                           {"timed_out", double(counts.timed_out)},
                           {"units_lost", double(counts.units_lost)},
                           {"late_verdicts", double(counts.late_verdicts)},
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
        status_.write(std::move(status), supervisor_.idle() && heard);
    }

private:
    transport::MessageLoop& loop_;
    Reports& reports_;
    Supervisor supervisor_;
    SharedStatus status_;
    SteadyTime told_{};
    bool running_ = false;  // of the loop's thread
    bool ending_ = false;
};

namespace {

Result<std::vector<transport::LinkPeer>> links(const std::vector<Peer>& peers, transport::LinkKind link) {
    return links_to(peers, {StationKind::assign, StationKind::select}, link, {StationKind::assign, StationKind::select});
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
            .events = {}, .sources = {}};
}

Result<> SupervisorStation::connect(const std::vector<Peer>& peers) {
    const auto all = links(peers, options_.link);
    if (!all) return std::unexpected(all.error());
    if (auto set = loop_->set_peers(*all); !set) return set;
    logic_ = std::make_unique<Logic>(options_, *loop_, reports_, clock_);
    logic_->supervisor().set_peers(peers, clock_.now());
    thread_.emplace("supervisor", [this](const std::stop_token& stop) { loop_->run(stop, *logic_); });
    return {};
}

Result<> SupervisorStation::start(RunNumber run) {
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
    if (!logic_->status().wait_idle(deadline * 9 / 10)) {
        in_loop(*loop_, [&] {
            logic_->supervisor().force_all(clock_.now());
            logic_->tell();
        });
        static_cast<void>(logic_->status().wait_idle(deadline / 10));
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

StationStatus SupervisorStation::status() const { return logic_ ? logic_->status().read() : StationStatus{}; }

}  // namespace weir::selection
