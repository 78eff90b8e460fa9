// SPDX-License-Identifier: Apache-2.0
// What is due: posts again, acknowledgements, probes, silence; and peers and runs that come and go.
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
    peer->heard = false;
    peer->last_heard = state.now;
    peer->last_probe = {};
    state.next_look = {};
}

void Endpoint::remove_peer(wire::StationId id) {
    auto* peer = state_->member(id);
    if (peer == nullptr) return;
    state_->drop_posts(*peer);
    state_->reassembly.forget(id);
    peer->member = peer->heard = peer->wanted = false;
}

void Endpoint::set_run(RunNumber run) {
    auto& state = *state_;
    if (run == state.run) return;
    for (const auto id : state.ids) state.drop_posts(*state.find(id));
    state.reassembly.clear();
    if (run != RunNumber{0}) {
        const bool again = run == state.last_run;  // numbers go on, as they do at the peers
        state.last_run = run;
        state.run = run;
        for (const auto id : state.ids) {
            auto& peer = *state.find(id);
            if (!again) state.begin_run(peer);
            peer.run_confirmed = false;
            // Says that this station is in the run now, so that what it could not take yet comes at once.
            if (peer.member && peer.heard) state.owe_ack(peer);
        }
    }
    state.run = run;
}

void Endpoint::State::begin_run(EndpointPeer& peer) {
    posts_open -= peer.posts.restart();
    peer.received = {};
    peer.completed = {};
    peer.acks_from = 0;
}

void Endpoint::State::advance(SteadyTime to) {
    // When this process itself was away, what was not heard meanwhile says nothing of the peers.
    if (to - now > options.silent_after / 4) {
        for (const auto id : ids) {
            auto& peer = *find(id);
            peer.last_heard = std::max(peer.last_heard, to - options.silent_after / 2);
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
    const bool told = now >= state.next_look && state.look_at_peers(handler);
    state.reassembly.expire(now);
    state.stats.assemblies_given_up = state.reassembly.given_up();
    state.link.flush();
    again = told ? now : std::min(again, state.next_look);  // the logic has something new to act upon
    if (const auto expiry = state.reassembly.next_expiry()) again = std::min(again, *expiry);
    return again;
}

void Endpoint::State::resend(SteadyTime& again) {
    for (int count = 0; count < resends_at_once;) {
        const auto token = resends.take_due(now);
        if (!token) break;
        auto* peer = find(wire::StationId{static_cast<std::uint16_t>(*token >> 48)});
        const auto post = *token & ((std::uint64_t{1} << 48) - 1);
        auto* slot = peer != nullptr ? peer->posts.find(post) : nullptr;
        if (slot == nullptr || slot->due > now)
            continue;                // acknowledged, or an entry of an earlier post of this number
        if (!peer->heard) continue;  // all of them when it is heard again
        ++slot->tries;
        slot->due = now + peer->round_trip.wait(slot->tries, options.resend_min, options.resend_max);
        resends.set(slot->due, *token);
        ++stats.posts_resent;
        ++count;
        transmit_post(*peer, post, *slot);
    }
    if (const auto next = resends.next()) again = std::min(again, *next);
}

/// True: the handler was told of a change.
bool Endpoint::State::look_at_peers(MessageHandler& handler) {
    bool told = false;
    const auto heartbeat = std::chrono::nanoseconds(options.heartbeat);
    next_look = now + heartbeat;
    stats.round_trip = {};
    for (std::size_t i = 0; i < ids.size(); ++i) {  // the handler may add peers
        auto& peer = *find(ids[i]);
        if (!peer.member) continue;
        stats.round_trip = std::max(stats.round_trip, peer.round_trip.smoothed());
        if (!peer.minded()) continue;
        if (peer.heard && now - peer.last_heard >= options.silent_after) {
            mark_silent(peer, handler);
            told = true;
        }
        // The one that talks need not be asked whether it is there.
        const auto every = peer.wanted ? std::min<std::chrono::nanoseconds>(heartbeat, want_probe) : heartbeat;
        const auto last = peer.heard ? std::max(peer.last_probe, std::min(peer.last_heard, now)) : peer.last_probe;
        if (peer.last_probe == SteadyTime{} || now - last >= every) probe_now(peer);
        next_look = std::min(next_look, now + every);
        const auto silent_at = std::max(peer.last_heard + options.silent_after, now + options.resend_min);
        if (peer.heard) next_look = std::min(next_look, silent_at);
    }
    return told;
}

/// What could not arrive until now is sent at once, instead of when its pause is over.
void Endpoint::State::resend_all(EndpointPeer& peer) {
    peer.posts.for_each_open([&](std::uint64_t post, PostWindow::Slot& slot) {
        if (slot.tries == 0 && slot.due > now) return;
        slot.due = now;
        resends.set(now, std::uint64_t{number(peer.id)} << 48 | post);
    });
}

/// It may only be standing still: what was posted to it is kept, and sent again when it is heard again.
void Endpoint::State::mark_silent(EndpointPeer& peer, MessageHandler& handler) {
    peer.heard = false;
    peer.run_confirmed = false;
    reassembly.forget(peer.id);
    handler.on_peer(peer.id, PeerChange::silent, now);
}

}  // namespace weir::messaging
