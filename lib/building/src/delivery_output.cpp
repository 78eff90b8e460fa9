// SPDX-License-Identifier: Apache-2.0
#include "weir/building/delivery_output.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "weir/wire/recorder_choice.hpp"

namespace weir::building {

namespace {

/// A twin that the recorder holds already is as good as stored.
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

/// Whoever is asked to send it says the same; else the sender has failed.
bool is_of_the_event(const Error& error) noexcept { return error.code == Errc::limit || error.code == Errc::usage; }

}  // namespace

struct DeliveryOutput::Lane {
    Peer peer{};
    bool failed = false;  // for good: its sender takes nothing more
    std::unordered_map<std::uint64_t, std::shared_ptr<BuiltEvent>> events{};  // not final, by sequence
    std::vector<Sequence> early{};  // final before send() said which sequence it was
    std::vector<std::optional<wire::RejectReason>> early_reasons{};
    std::unique_ptr<delivery::Sender> sender{};  // the last member: its thread calls final()
};

DeliveryOutput::DeliveryOutput(DeliveryOutputOptions options, std::function<void()> woken)
    : options_(std::move(options)), woken_(std::move(woken)) {}

DeliveryOutput::~DeliveryOutput() { close(); }

Result<> DeliveryOutput::set_peers(const std::vector<Peer>& peers, RunNumber run) {
    if (run != run_) close();
    run_ = run;
    const bool filters = std::ranges::any_of(peers, [](const Peer& p) { return p.kind == StationKind::filter; });
    std::vector<Peer> wanted;
    for (const auto& peer : peers) {
        if (peer.kind == (filters ? StationKind::filter : StationKind::record)) wanted.push_back(peer);
    }
    for (auto it = lanes_.begin(); it != lanes_.end();) {
        const bool stays = std::ranges::any_of(wanted, [&](const Peer& p) {
            return p.id == (*it)->peer.id && p.events == (*it)->peer.events;
        });
        if (stays) {
            ++it;
            continue;
        }
        give_up(it);
    }
    for (const auto& peer : wanted) {
        if (std::ranges::any_of(lanes_, [&](const auto& lane) { return lane->peer.id == peer.id; })) continue;
        auto lane = open(peer, run);
        if (!lane) return std::unexpected(lane.error());
        lanes_.push_back(std::move(*lane));
    }
    static_cast<void>(send_homeless());
    return {};
}

Result<std::unique_ptr<DeliveryOutput::Lane>> DeliveryOutput::open(const Peer& peer, RunNumber run) {
    auto lane = std::make_unique<Lane>();
    lane->peer = peer;
    delivery::SenderOptions options;
    options.host = peer.events;
    options.name = options_.name;
    options.run = run;
    options.format = options_.format;
    options.connection = lanes_opened_++;
    options.window = options_.window;
    options.backoff_last = std::chrono::milliseconds(500);
    options.on_final = [this, lane = lane.get()](Sequence sequence, std::optional<wire::RejectReason> reason) {
        final(*lane, sequence, reason);
    };
    auto sender = delivery::Sender::open(std::move(options));
    if (!sender) return std::unexpected(sender.error());
    lane->sender = std::move(*sender);
    return lane;
}

bool DeliveryOutput::send_homeless() {
    for (auto it = lanes_.begin(); it != lanes_.end();) {  // a sender that has failed for good keeps nothing to itself
        if (!(*it)->failed) {
            ++it;
            continue;
        }
        auto peer = (*it)->peer;
        give_up(it);
        if (auto lane = open(peer, run_)) it = std::next(lanes_.insert(it, std::move(*lane)));
    }
    std::vector<Lane*> full;  // this time
    std::erase_if(homeless_, [&](const auto& event) {
        if (full.size() == lanes_.size()) return false;
        for (auto* lane : lanes_for(*event)) {
            if (std::ranges::find(full, lane) != full.end()) continue;
            const auto done = send(*lane, event, true);
            if (done && *done) return true;
            if (!done && is_of_the_event(done.error())) return refuse(*event, done.error()), true;
            full.push_back(lane);
        }
        return false;
    });
    return homeless_.empty();
}

/// Which may take the event, the best first: any of the filters, that with the fewest bytes; of recorders only its own.
std::vector<DeliveryOutput::Lane*> DeliveryOutput::lanes_for(const BuiltEvent& event) const {
    std::vector<Lane*> lanes;
    for (const auto& lane : lanes_) lanes.push_back(lane.get());
    if (lanes.empty()) return lanes;
    if (lanes.front()->peer.kind == StationKind::record) {
        const auto id = event.ticket.global_id;
        return {*std::ranges::max_element(lanes, {}, [&](const Lane* lane) {
            return std::pair(wire::preference(id, lane->peer.name), lane->peer.name);
        })};
    }
    std::vector<std::pair<std::uint64_t, Lane*>> by_load;
    for (auto* lane : lanes) {
        const auto stats = lane->sender->stats();
        by_load.emplace_back(stats.bytes_held + (stats.connected ? 0 : std::numeric_limits<std::uint64_t>::max() / 2), lane);
    }
    std::ranges::sort(by_load);
    std::ranges::transform(by_load, lanes.begin(), [](const auto& pair) { return pair.second; });
    return lanes;
}

void DeliveryOutput::look_for_failures() {
    using namespace std::chrono_literals;
    for (auto& lane : lanes_) lane->failed = lane->failed || !lane->sender->flush(0ms);  // of nothing: an error is for good
}

/// The lane's events go to others; the iterator to the next one.
void DeliveryOutput::give_up(std::vector<std::unique_ptr<Lane>>::iterator& lane) {
    (*lane)->sender->close();  // no answer comes any more
    const std::scoped_lock lock(mutex_);
    if (const auto problem = (*lane)->sender->stats().last_problem; !problem.empty()) problem_ = (*lane)->peer.name + ": " + problem;
    for (auto& [sequence, event] : (*lane)->events) homeless_.push_back(std::move(event));
    lane = lanes_.erase(lane);
}

bool DeliveryOutput::take(std::unique_ptr<BuiltEvent>& event) {
    if (lanes_.empty() || !send_homeless()) return false;
    waiting_.store(true, std::memory_order_release);  // before the attempt: room that comes during it is not missed
    const auto lanes = lanes_for(*event);
    std::shared_ptr<BuiltEvent> shared(std::move(event));
    for (auto* lane : lanes) {
        const bool again = shared->ticket.reassigned;
        const auto done = send(*lane, shared, again);
        if (done && !*done) continue;
        if (!done && !is_of_the_event(done.error())) continue;  // that sender has failed
        if (!done) refuse(*shared, done.error());
        waiting_.store(false, std::memory_order_release);
        return true;
    }
    event = std::make_unique<BuiltEvent>(std::move(*shared));  // nobody else has it
    return false;
}

Result<bool> DeliveryOutput::send(Lane& lane, std::shared_ptr<BuiltEvent> event, bool again) {
    const delivery::EventDescription description{.global_id = event->ticket.global_id,
                                                 .level1_id = event->ticket.level1_id,
                                                 .lumi_block = event->ticket.lumi_block,
                                                 .tags = options_.tags,
                                                 .sent_elsewhere = again};
    std::vector<delivery::Piece> pieces;
    pieces.reserve(event->pieces.count());
    for (std::size_t i = 0; i < event->pieces.count(); ++i) pieces.push_back({.data = event->pieces.piece(i), .owner = event});
    const auto sent = lane.sender->try_send(description, pieces);
    if (!sent) {
        lane.failed = !is_of_the_event(sent.error());
        return std::unexpected(sent.error());
    }
    if (!*sent) return false;
    bool wake = false;
    {
        const std::scoped_lock lock(mutex_);
        const auto early = std::ranges::find(lane.early, **sent);
        if (early == lane.early.end()) {
            lane.events.emplace(number(**sent), std::move(event));
        } else {  // its answer was faster than this thread
            const auto reason = lane.early_reasons[static_cast<std::size_t>(early - lane.early.begin())];
            lane.early_reasons.erase(lane.early_reasons.begin() + (early - lane.early.begin()));
            lane.early.erase(early);
            wake = ended_.empty();
            ended_.push_back(end_of(*event, reason));
        }
    }
    if (wake) woken_();
    return true;
}

/// An event that cannot be sent at all, whoever takes it.
void DeliveryOutput::refuse(const BuiltEvent& event, const Error& why) {
    {
        const std::scoped_lock lock(mutex_);
        ended_.push_back({.ticket = event.ticket,
                          .incomplete = event.robs_lost > 0,
                          .outcome = wire::EventOutcome::refused,
                          .reason = why.code == Errc::limit ? "too large" : "cannot be sent"});
    }
    woken_();
}

void DeliveryOutput::final(Lane& lane, Sequence sequence, std::optional<wire::RejectReason> reason) {
    bool wake = false;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = lane.events.find(number(sequence));
        if (found == lane.events.end()) {
            lane.early.push_back(sequence);
            lane.early_reasons.push_back(reason);
            return;
        }
        wake = ended_.empty();
        ended_.push_back(end_of(*found->second, reason));
        lane.events.erase(found);
    }
    if (wake || waiting_.exchange(false, std::memory_order_acq_rel)) woken_();
}

std::vector<EndedEvent> DeliveryOutput::take_ended() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(ended_, {});
}

void DeliveryOutput::close() {
    for (auto& lane : lanes_) lane->sender->close();
    lanes_.clear();
    homeless_.clear();
}

DeliveryOutput::Stats DeliveryOutput::stats() const {
    Stats all;
    {
        const std::scoped_lock lock(mutex_);
        all.problem = problem_;
    }
    for (const auto& lane : lanes_) {
        const auto stats = lane->sender->stats();
        all.sent += stats.accepted;
        all.held += stats.held;
        all.bytes += stats.bytes_accepted;
        all.reconnects += stats.reconnects;
        all.connected += stats.connected ? 1 : 0;
        ++all.senders;
        if (!stats.last_problem.empty()) all.problem = lane->peer.name + ": " + stats.last_problem;
    }
    return all;
}

}  // namespace weir::building
