// SPDX-License-Identifier: Apache-2.0
// Receiving: checks the sender of each datagram, then delivers, assembles or discards its part.
#include "weir/messaging/endpoint.hpp"

#include "endpoint_state.hpp"
#include "weir/base/assert.hpp"

namespace weir::messaging {
namespace {

using wire::DataflowType;

constexpr std::size_t received_ranges_max =
    65'536;  // gaps in a peer's reliable messages; it has far fewer of them in flight

}  // namespace

Endpoint::Endpoint(const EndpointOptions& options, Link& link, memory::BufferPool& pool)
    : state_(std::make_unique<State>(options, link, pool)) {
    WEIR_ASSERT(options.self != wire::StationId{0} && options.epoch != wire::Epoch{0});
}

Endpoint::~Endpoint() = default;

void Endpoint::set_time(SteadyTime now) { state_->advance(now); }

void Endpoint::receive(ConstData datagram, SteadyTime now, MessageHandler& handler) {
    state_->advance(now);
    state_->receive(datagram, handler);
}

void Endpoint::State::receive(ConstData datagram, MessageHandler& handler) {
    ++stats.datagrams_received;
    stats.bytes_received += datagram.size();
    const auto header = wire::decode_datagram(datagram, options.key);
    if (!header) {
        ++stats.malformed;
        return;
    }
    auto* peer = member(header->from);
    if (peer == nullptr) {
        ++stats.unknown_station;
        return;
    }
    if (!accept_sender(*peer, *header, handler)) return;
    const auto part = datagram.subspan(wire::datagram_header_size);
    if (header->type == DataflowType::probe || header->type == DataflowType::probe_answer)
        return on_probe(*peer, *header, part);
    // Reliable messages of a run that has not begun here are not acknowledged, so the sender repeats them.
    if (header->run != run || run == RunNumber{0}) {
        ++stats.foreign_run;
        return;
    }
    if (header->type == DataflowType::ack) {
        if (header->to_epoch != options.epoch || header->part_size != header->message_size) ++stats.malformed;
        else on_ack(*peer, part);
        return;
    }
    on_part(*peer, *header, part, handler);
}

/// Compares the epochs in the header with what is known of the peer. False: the datagram comes from an earlier process,
/// or is for one.
bool Endpoint::State::accept_sender(EndpointPeer& peer, const wire::DatagramHeader& header, MessageHandler& handler) {
    if (header.epoch < peer.epoch) {
        ++stats.stale_epoch;
        return false;
    }
    peer.last_received = now;
    if (header.epoch > peer.epoch) {
        const bool known = peer.epoch != wire::Epoch{0};
        reset_process(peer);
        peer.epoch = header.epoch;
        peer.reachable = true;
        peer.wanted = false;
        handler.on_peer(peer.id, known ? PeerChange::restarted : PeerChange::appeared, now);
    } else if (!peer.reachable) {
        peer.reachable = true;
        peer.wanted = false;
        resend_all(peer);
        handler.on_peer(peer.id, PeerChange::appeared, now);
    }
    if (header.to_epoch == options.epoch || header.to_epoch == wire::Epoch{0}) return true;
    // For the process before this one: a probe shows its sender our epoch.
    ++stats.stale_epoch;
    if (now - peer.last_probe >= options.resend_min) probe_now(peer);
    return false;
}

void Endpoint::State::on_probe(EndpointPeer& peer, const wire::DatagramHeader& header, ConstData body) {
    const auto probe = header.part_size == header.message_size ? Probe::decode(body) : std::nullopt;
    if (!probe) {
        ++stats.malformed;
        return;
    }
    ++stats.messages_received;
    // Messages that the peer no longer sends are no gap. Only in this run, and only if the probe is for this process.
    if (probe->first_open > 1 && wire::valid(Sequence{probe->first_open}) && run != RunNumber{0} && header.run == run &&
        header.to_epoch == options.epoch)
        peer.received.insert({Sequence{1}, Sequence{probe->first_open - 1}});
    if (header.type == DataflowType::probe) {
        const auto size = wire::datagram_header_size + body.size();
        send_probe(peer, DataflowType::probe_answer,
                   {.token = probe->token,
                    .first_open = peer.reliable.first_open(),
                    .received_size = static_cast<std::uint32_t>(size)},
                   wire::datagram_header_size + Probe::size);
        return;
    }
    if (header.to_epoch != options.epoch) return;
    peer.probed = std::max<std::size_t>(peer.probed, probe->received_size);
    if (probe->token == peer.probe_token && probe->token != 0) {
        peer.round_trip.sample(now - peer.last_probe);
        peer.probe_token = 0;
    }
}

void Endpoint::State::on_ack(EndpointPeer& peer, ConstData body) {
    const auto ack = Ack::decode(body);
    if (!ack) {
        ++stats.malformed;
        return;
    }
    ++stats.messages_received;
    const auto open = peer.reliable.open();
    const auto acknowledge = [&](wire::SequenceRange range) {
        if (const auto needed = peer.reliable.acknowledge(range, now)) peer.round_trip.sample(*needed);
    };
    if (ack->cumulative > 0) acknowledge({Sequence{1}, Sequence{ack->cumulative}});
    for (std::size_t i = 0; i < ack->count(); ++i) acknowledge(ack->range(i));
    reliable_open -= open - peer.reliable.open();
    if (!std::exchange(peer.run_confirmed, true)) resend_all(peer);  // it has just begun this run
}

/// True: the message is new. False: it is a duplicate, or there are too many gaps to record its number.
bool Endpoint::State::accept_reliable(EndpointPeer& peer, std::uint64_t message) {
    const Sequence sequence{message};
    if (peer.received.intervals().size() >= received_ranges_max && message > number(peer.received.highest()) + 1) {
        ++stats.inconsistent;
        return false;
    }
    owe_ack(peer);
    if (peer.received.insert(sequence)) return true;
    ++stats.duplicates;
    return false;
}

void Endpoint::State::on_part(EndpointPeer& peer, const wire::DatagramHeader& header, ConstData part,
                              MessageHandler& handler) {
    IncomingMessage message{.from = header.from, .type = header.type, .run = header.run, .body = part};
    memory::Buffer memory;
    if (header.part_size == header.message_size) {
        if (header.reliable && !accept_reliable(peer, header.message)) return;
    } else {
        const auto lately = !header.reliable && peer.completed[header.message % 64] == header.message;
        if (lately || (header.reliable && peer.received.contains(Sequence{header.message}))) {
            ++stats.duplicates;
            if (header.reliable) owe_ack(peer);
            return;
        }
        switch (reassembly.add(header, part, now, memory)) {
            case Reassembly::Outcome::more: return;
            case Reassembly::Outcome::duplicate: ++stats.duplicates; return;
            case Reassembly::Outcome::inconsistent: ++stats.inconsistent; return;
            case Reassembly::Outcome::no_memory: ++stats.no_memory; return;
            case Reassembly::Outcome::complete: break;
        }
        if (!header.reliable) peer.completed[header.message % 64] = header.message;
        else if (!accept_reliable(peer, header.message)) return;
        message.body = memory.data();
        message.memory = &memory;
    }
    ++stats.messages_received;
    handler.on_message(message, now);
}

void Endpoint::State::reset_process(EndpointPeer& peer) {
    reliable_open -= peer.reliable.restart();
    peer.received = {};
    peer.completed = {};
    peer.probed = 0;
    peer.probe_token = 0;
    peer.ack_due = false;
    peer.acks_from = 0;
    peer.run_confirmed = false;
    reassembly.discard_from(peer.id);
}

std::size_t Endpoint::reliable_in_flight() const noexcept { return state_->reliable_open; }

std::size_t Endpoint::reliable_in_flight(wire::StationId id) const noexcept {
    const auto* peer = state_->member(id);
    return peer != nullptr ? peer->reliable.open() : 0;
}

bool Endpoint::reachable(wire::StationId id) const noexcept {
    const auto* peer = state_->member(id);
    return peer != nullptr && peer->reachable;
}

std::size_t Endpoint::probed(wire::StationId id) const noexcept {
    const auto* peer = state_->member(id);
    return peer != nullptr ? peer->probed : 0;
}

const EndpointStats& Endpoint::stats() const noexcept { return state_->stats; }

}  // namespace weir::messaging
