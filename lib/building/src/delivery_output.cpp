// SPDX-License-Identifier: Apache-2.0
#include "weir/building/delivery_output.hpp"

#include <algorithm>
#include <utility>

namespace weir::building {

namespace {

/// A duplicate that the recorder holds already is as good as stored.
EndedEvent end_of(const BuiltEvent& event, std::optional<wire::RejectReason> reason) {
    const bool stored = !reason || *reason == wire::RejectReason::duplicate;
    // Only a selection rejects; an event that is refused for another reason was wanted, and is lost.
    const auto otherwise =
        reason == wire::RejectReason::not_selected ? wire::EventOutcome::rejected : wire::EventOutcome::refused;
    return {.ticket = event.ticket,
            .incomplete = event.robs_lost > 0,
            .outcome = stored ? wire::EventOutcome::stored : otherwise,
            .reason = stored ? "" : wire::name(*reason)};
}

}  // namespace

DeliveryOutput::DeliveryOutput(DeliveryOutputOptions options, std::function<void()> woken, Reporter report)
    : options_(std::move(options)), woken_(std::move(woken)), report_(std::move(report)) {}

DeliveryOutput::~DeliveryOutput() = default;

Result<> DeliveryOutput::set_peers(const std::vector<Peer>& peers, RunNumber run) {
    if (!group_ || run != run_) {
        close();
        run_ = run;
        delivery::SenderGroupOptions options;
        options.sender.name = options_.name;
        options.sender.run = run;
        options.sender.format = options_.format;
        options.sender.window = options_.window;
        options.sender.tls = options_.tls;
        options.sender.backoff_last = std::chrono::milliseconds(500);
        options.window = options_.window;
        options.hold_back_after = std::chrono::milliseconds(200);
        group_ = std::make_unique<delivery::SenderGroup>(
            std::move(options),
            [this](const std::shared_ptr<const void>& event, std::optional<wire::RejectReason> reason) {
                final(*static_cast<const BuiltEvent*>(event.get()), reason);
            },
            report_);
    }
    const bool filters = std::ranges::any_of(peers, [](const Peer& peer) { return peer.kind == StationKind::filter; });
    auto receivers = peers;
    std::erase_if(receivers,
                  [&](const Peer& peer) { return peer.kind != (filters ? StationKind::filter : StationKind::record); });
    return group_->set_receivers(filters ? delivery::Choice::least_loaded : delivery::Choice::by_event,
                                 std::move(receivers));
}

bool DeliveryOutput::take(std::unique_ptr<BuiltEvent>& event) {
    if (!group_) return false;
    waiting_.store(true, std::memory_order_release);  // before the attempt: room that comes during it is not missed
    std::shared_ptr<BuiltEvent> shared(std::move(event));
    std::vector<delivery::Piece> pieces(shared->pieces.count());
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i].data = shared->pieces.piece(i);
    pieces.front().owner = shared;  // an event has a header at least
    if (group_->try_send({.global_id = shared->ticket.global_id,
                          .level1_id = shared->ticket.level1_id,
                          .lumi_block = shared->ticket.lumi_block,
                          .tags = options_.tags,
                          .sent_elsewhere = shared->ticket.reassigned},
                         pieces)) {
        waiting_.store(false, std::memory_order_release);
        return true;
    }
    pieces.clear();
    event = std::make_unique<BuiltEvent>(std::move(*shared));  // no other owner
    return false;
}

void DeliveryOutput::final(const BuiltEvent& event, std::optional<wire::RejectReason> reason) {
    bool wake = false;
    {
        const std::scoped_lock lock(mutex_);
        wake = ended_.empty();
        ended_.push_back(end_of(event, reason));
    }
    if (wake || waiting_.exchange(false, std::memory_order_acq_rel)) woken_();
}

std::vector<EndedEvent> DeliveryOutput::take_ended() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(ended_, {});
}

void DeliveryOutput::look_after(SteadyTime now) {
    if (group_) group_->look_after(now);
}

void DeliveryOutput::close() { group_.reset(); }

delivery::SenderGroup::Stats DeliveryOutput::stats() const {
    return group_ ? group_->stats() : delivery::SenderGroup::Stats{};
}

}  // namespace weir::building
