// SPDX-License-Identifier: Apache-2.0
#include "weir/building/assigner_station.hpp"

#include <algorithm>

namespace weir::building {

namespace {

/// The logic, and what its thread reports to the others.
class AssignerLogic final : public station::StationLogic {
public:
    AssignerLogic(const AssignerOptions& options, messaging::StationLoop& loop, service::SharedStatus& status,
                  Reporter report)
        : loop_(loop), status_(status), assigner_(options, loop.endpoint(), std::move(report)) {}

    Result<> set_peers(const std::vector<Peer>& peers, SteadyTime now) override {
        peers_ = peers;
        assigner_.set_peers(peers, now);
        return {};
    }
    void start_run(RunNumber, SteadyTime) override { assigner_.start_run(); }
    void end_run() override { assigner_.reject_unfinished(); }

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        assigner_.on_message(message, now);
    }
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override {
        assigner_.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override { return assigner_.step(now); }
    service::StationEvents events() const override {
        if (assigner_.ledger().in_hand > 0) return {};
        const auto& events = assigner_.events();
        return {{"accepted", events.accepted},
                {"rejected", events.rejected},
                {"refused", events.refused},
                {"failed", events.failed},
                {"given up", events.unfinished}};
    }
    void publish_status() override {
        const auto& counts = assigner_.counts();
        service::StationStatus status;
        status.ledger = assigner_.ledger();
        status.counters = {{"accepted", double(counts.accepted)},     {"level2_rejected", double(counts.rejected)},
                           {"stored", double(counts.stored)},         {"incomplete", double(counts.incomplete)},
                           {"reassigned", double(counts.reassigned)}, {"clears_sent", double(counts.clears_sent)},
                           {"waiting", double(counts.waiting)},       {"assigned", double(counts.assigned)},
                           {"repeated", double(counts.repeated)}};
        status.levels = {"waiting", "assigned"};
        status.durations = {
            {"event", "from level 2's word to the end of an event: stored, or not wanted", assigner_.durations()}};
        const auto stats = loop_.stats();
        status.counters["posts_resent"] = double(stats.endpoint.reliable_resent);
        status.counters["kernel_drops"] = double(stats.kernel_drops);
        status.counters["foreign_address"] = double(stats.foreign_address);
        status_.write(std::move(status), assigner_.idle() && all_acknowledged());
    }

private:
    /// The stations that go on and live have acknowledged all messages. The supervisor has stopped by then: it takes no
    /// credit.
    [[nodiscard]] bool all_acknowledged() {
        return std::ranges::all_of(peers_, [&](const Peer& peer) {
            return peer.kind == StationKind::supervise || !loop_.endpoint().reachable(peer.id) ||
                   loop_.endpoint().reliable_in_flight(peer.id) == 0;
        });
    }

    messaging::StationLoop& loop_;
    service::SharedStatus& status_;
    Assigner assigner_;
    std::vector<Peer> peers_;
};

station::LoopStationOptions around(const AssignerStationOptions& options) {
    const std::vector kinds{StationKind::build, StationKind::readout, StationKind::supervise};
    return {
        .name = options.name,
        .kind = StationKind::assign,
        .id = options.id,
        .loop = {.thread = "dfm", .loop = options.loop, .link = options.link, .speaks_with = kinds, .watches = kinds}};
}

}  // namespace

AssignerStation::AssignerStation(AssignerStationOptions options, Reporter report, const Clock& clock)
    : LoopStation(
          around(options),
          [assigner = options.assigner, report = std::move(report)]() -> Result<MakeLogic> {
              return [assigner, report](messaging::StationLoop& loop, service::SharedStatus& status) {
                  return std::make_unique<AssignerLogic>(assigner, loop, status, report);
              };
          },
          clock) {}

}  // namespace weir::building
