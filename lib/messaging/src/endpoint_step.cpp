// SPDX-License-Identifier: Apache-2.0
// What is due: retries, acknowledgements, probes, silence. Also changes of peers and runs.
#include <algorithm>

#include "endpoint_state.hpp"
#include "weir/base/assert.hpp"

namespace weir::messaging {
namespace {

constexpr int resends_at_once = 256;  // of one step, so that receiving goes on

}  // namespace

void Endpoint::add_peer(wire::StationId id, bool watched) {
    auto& state = *state_;
    WEIR_ASSERT(id != wire::StationId{0} && id != state.options.self);
    if (state.by_id.size() <= number(id)) state.by_id.resize(std::size_t{number(id)} + 1);
    auto& peer = state.by_id[number(id)];
    if (!peer) {
        peer = std::make_unique<EndpointPeer>(id, state.options);
        state.ids.push_back(id);
    }
    peer->watched = watched;
    if (std::exchange(peer->member, true)) return;
    peer->reachable = false;
    peer->last_received = state.now;
    peer->last_probe = {};
    state.next_look = {};
}

void Endpoint::remove_peer(wire::StationId id) {
    auto* peer = state_->member(id);
    if (peer == nullptr) return;
    state_->discard_reliable(*peer);
    state_->reassembly.discard_from(id);
    peer->member = peer->reachable = peer->wanted = false;
}

void Endpoint::set_run(RunNumber run) {
    auto& state = *state_;
    if (run == state.run) return;
    for (const auto id : state.ids) state.discard_reliable(*state.find(id));
    state.reassembly.clear();
    if (run != RunNumber{0}) {
        const bool again = run == state.last_run;  // numbers go on, as they do at the peers
        state.last_run = run;
        state.run = run;
        for (const auto id : state.ids) {
            auto& peer = *state.find(id);
            if (!again) state.begin_run(peer);
            peer.run_confirmed = false;
            // Shows that this station is in the run now, so that the peer retries its messages at once.
            if (peer.member && peer.reachable) state.owe_ack(peer);
        }
    }
    state.run = run;
}

void Endpoint::State::begin_run(EndpointPeer& peer) {
    reliable_open -= peer.reliable.restart();
    peer.received = {};
    peer.completed = {};
    peer.acks_from = 0;
}

void Endpoint::State::advance(SteadyTime to) {
    // When this process itself stood still, the peers were not silent: nothing was received.
    if (to - now > options.silent_after / 4) {
        for (const auto id : ids) {
            auto& peer = *find(id);
            peer.last_received = std::max(peer.last_received, to - options.silent_after / 2);
        }
    }
    now = to;
}

SteadyTime Endpoint::step(SteadyTime now, MessageHandler& handler) {
    auto& state = *state_;
    state.advance(now);
    auto again = SteadyTime::max();
    state.resend(again);
    for (const auto id : state.acks_due) {
        auto& peer = *state.find(id);
        if (!std::exchange(peer.ack_due, false) || !peer.member || state.run == RunNumber{0}) continue;
        state.send_acks(peer);
    }
    state.acks_due.clear();
    const bool notified = now >= state.next_look && state.look_at_peers(handler);
    state.reassembly.expire(now);
    state.stats.assemblies_discarded = state.reassembly.discarded();
    state.link.flush();
    again = notified ? now : std::min(again, state.next_look);  // the logic has to act on the change
    if (const auto expiry = state.reassembly.next_expiry()) again = std::min(again, *expiry);
    return again;
}

void Endpoint::State::resend(SteadyTime& again) {
    for (int count = 0; count < resends_at_once;) {
        const auto token = resends.take_due(now);
        if (!token) break;
        auto* peer = find(wire::StationId{static_cast<std::uint16_t>(*token >> 48)});
        const auto sequence = *token & ((std::uint64_t{1} << 48) - 1);
        auto* slot = peer != nullptr ? peer->reliable.find(sequence) : nullptr;
        if (slot == nullptr || slot->due > now)
            continue;                    // acknowledged, or an entry of an earlier message with this number
        if (!peer->reachable) continue;  // all of them when it is reachable again
        ++slot->tries;
        slot->due = now + peer->round_trip.wait(slot->tries, options.resend_min, options.resend_max);
        resends.set(slot->due, *token);
        ++stats.reliable_resent;
        ++count;
        transmit_reliable(*peer, sequence, *slot);
    }
    if (const auto next = resends.next()) again = std::min(again, *next);
}

/// True: the handler was notified of a change.
bool Endpoint::State::look_at_peers(MessageHandler& handler) {
    bool notified = false;
    const auto heartbeat = std::chrono::nanoseconds(options.heartbeat);
    next_look = now + heartbeat;
    stats.round_trip = {};
    for (std::size_t i = 0; i < ids.size(); ++i) {  // the handler may add peers
        auto& peer = *find(ids[i]);
        if (!peer.member) continue;
        stats.round_trip = std::max(stats.round_trip, peer.round_trip.smoothed());
        if (!peer.minded()) continue;
        if (peer.reachable && now - peer.last_received >= options.silent_after) {
            mark_silent(peer, handler);
            notified = true;
        }
        // A peer that sends datagrams needs no probe.
        const auto every = peer.wanted ? std::min<std::chrono::nanoseconds>(heartbeat, want_probe) : heartbeat;
        const auto last =
            peer.reachable ? std::max(peer.last_probe, std::min(peer.last_received, now)) : peer.last_probe;
        if (peer.last_probe == SteadyTime{} || now - last >= every) probe_now(peer);
        next_look = std::min(next_look, now + every);
        const auto silent_at = std::max(peer.last_received + options.silent_after, now + options.resend_min);
        if (peer.reachable) next_look = std::min(next_look, silent_at);
    }
    return notified;
}

/// Messages that could not arrive until now are retried at once, not when their wait is over.
void Endpoint::State::resend_all(EndpointPeer& peer) {
    peer.reliable.for_each_open([&](std::uint64_t sequence, ReliableWindow::Slot& slot) {
        if (slot.tries == 0 && slot.due > now) return;
        slot.due = now;
        resends.set(now, std::uint64_t{number(peer.id)} << 48 | sequence);
    });
}

/// The peer may only stand still: its reliable messages are kept, and retried when it is reachable again.
void Endpoint::State::mark_silent(EndpointPeer& peer, MessageHandler& handler) {
    peer.reachable = false;
    peer.run_confirmed = false;
    reassembly.discard_from(peer.id);
    handler.on_peer(peer.id, PeerChange::silent, now);
}

}  // namespace weir::messaging
