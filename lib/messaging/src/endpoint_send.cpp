// SPDX-License-Identifier: Apache-2.0
// Sending: messages into datagrams, reliable messages, acknowledgements, probes.
#include <algorithm>

#include "endpoint_state.hpp"
#include "weir/base/assert.hpp"

namespace weir::messaging {
namespace {

using wire::DataflowType;

constexpr std::size_t ack_ranges_max = 500;  // of one datagram
constexpr int acks_at_once = 4;              // datagrams, when there are more ranges

std::size_t size_of(std::span<const ConstData> pieces) noexcept {
    std::size_t size = 0;
    for (const auto piece : pieces) size += piece.size();
    return size;
}

bool of_the_endpoint(DataflowType type) noexcept {
    return type == DataflowType::probe || type == DataflowType::probe_answer || type == DataflowType::ack;
}

}  // namespace

void Endpoint::send(wire::StationId to, DataflowType type, std::span<const ConstData> pieces) {
    auto& state = *state_;
    const auto size = size_of(pieces);
    WEIR_ASSERT(!of_the_endpoint(type) && size <= wire::dataflow_message_max);
    auto* peer = state.member(to);
    if (peer == nullptr || state.run == RunNumber{0}) {
        ++state.stats.not_carried;
        return;
    }
    ++state.stats.messages_sent;
    state.transmit(*peer, {.type = type, .message = peer->next_message++}, pieces, size);
}

bool Endpoint::send_reliably(wire::StationId to, DataflowType type, std::span<const ConstData> pieces) {
    auto& state = *state_;
    const auto size = size_of(pieces);
    WEIR_ASSERT(!of_the_endpoint(type) && size <= wire::dataflow_message_max);
    auto* peer = state.member(to);
    if (peer == nullptr || state.run == RunNumber{0}) return false;
    if (!peer->reachable) {
        state.want(*peer);
        return false;
    }
    if (!peer->reliable.has_room(size)) return false;
    // The silence of a peer that did not matter until now counts from now.
    if (!peer->minded()) peer->last_received = std::max(peer->last_received, state.now);
    const auto sequence = peer->reliable.push(type, pieces, size);
    ++state.reliable_open;
    ++state.stats.messages_sent;
    auto& slot = *peer->reliable.find(sequence);
    slot.sent = state.now;
    slot.due = state.now + peer->round_trip.wait(0, state.options.resend_min, state.options.resend_max);
    state.resends.set(slot.due, std::uint64_t{number(peer->id)} << 48 | sequence);
    state.transmit_reliable(*peer, sequence, slot);
    return true;
}

void Endpoint::State::transmit_reliable(EndpointPeer& peer, std::uint64_t sequence, ReliableWindow::Slot& slot) {
    const ConstData bytes(slot.bytes);
    transmit(peer, {.type = slot.type, .reliable = true, .message = sequence}, std::span(&bytes, 1), bytes.size());
}

void Endpoint::State::transmit(EndpointPeer& peer, wire::DatagramHeader header, std::span<const ConstData> pieces,
                               std::size_t size) {
    header.from = options.self;
    header.run = run;
    header.epoch = options.epoch;
    header.to_epoch = peer.epoch;
    header.message_size = static_cast<std::uint32_t>(size);
    const auto room = link.datagram_max(peer.id) - wire::datagram_header_size;
    if (size <= room) {
        header.part_size = header.message_size;
        return carry(peer, header, pieces);
    }
    WEIR_ASSERT(room + wire::datagram_header_size >= datagram_max_least);
    std::size_t piece = 0, in_piece = 0;
    for (std::size_t offset = 0; offset < size;) {
        const auto part_size = std::min(room, size - offset);
        part_pieces.clear();
        for (auto left = part_size; left > 0;) {
            const auto rest = pieces[piece].subspan(in_piece);
            const auto taken = std::min(rest.size(), left);
            if (taken > 0) part_pieces.push_back(rest.first(taken));
            left -= taken;
            in_piece += taken;
            if (in_piece == pieces[piece].size()) ++piece, in_piece = 0;
        }
        header.offset = static_cast<std::uint32_t>(offset);
        header.part_size = static_cast<std::uint32_t>(part_size);
        carry(peer, header, part_pieces);
        offset += part_size;
    }
}

void Endpoint::State::carry(EndpointPeer& peer, const wire::DatagramHeader& header, std::span<const ConstData> part) {
    std::array<std::byte, wire::datagram_header_size> head;
    wire::encode_datagram_header(head, header, part, options.key);
    datagram_pieces.clear();
    datagram_pieces.push_back(head);
    datagram_pieces.insert(datagram_pieces.end(), part.begin(), part.end());
    if (link.carry(peer.id, datagram_pieces)) {
        ++stats.datagrams_sent;
        stats.bytes_sent += wire::datagram_header_size + header.part_size;
    } else {
        ++stats.not_carried;
    }
}

void Endpoint::State::want(EndpointPeer& peer) {
    peer.wanted = true;
    if (now - peer.last_probe >= want_probe || peer.last_probe == SteadyTime{}) probe_now(peer);
    next_look = std::min(next_look, now + want_probe);
}

void Endpoint::State::probe_now(EndpointPeer& peer) {
    peer.last_probe = now;
    peer.probe_token = peer.next_message;  // unlike the one before
    send_probe(peer, DataflowType::probe, {.token = peer.probe_token, .first_open = peer.reliable.first_open()},
               wire::datagram_header_size + Probe::size);
}

void Endpoint::probe(wire::StationId id, std::size_t datagram_size) {
    auto* peer = state_->member(id);
    if (peer == nullptr) return;
    state_->send_probe(*peer, DataflowType::probe, {.first_open = peer->reliable.first_open()}, datagram_size);
}

void Endpoint::State::send_probe(EndpointPeer& peer, DataflowType type, Probe probe, std::size_t datagram_size) {
    const auto body = probe.encode();
    const auto least = wire::datagram_header_size + body.size();
    const auto pad = std::clamp(datagram_size, least, link.datagram_max(peer.id)) - least;
    if (padding.size() < pad) padding.resize(pad);
    const std::array<ConstData, 2> pieces{ConstData(body), ConstData(padding).first(pad)};
    transmit(peer, {.type = type, .message = peer.next_message++}, pieces, body.size() + pad);
}

void Endpoint::State::owe_ack(EndpointPeer& peer) {
    if (std::exchange(peer.ack_due, true)) return;
    acks_due.push_back(peer.id);
}

void Endpoint::State::send_acks(EndpointPeer& peer) {
    const auto room = link.datagram_max(peer.id) - wire::datagram_header_size - Ack::fixed_size;
    const auto most = std::min(room / Ack::range_size, ack_ranges_max);
    const auto ranges = peer.received.ranges();
    // When there are too many ranges for one acknowledgement, the next one continues where it ended.
    const auto next = std::ranges::lower_bound(ranges, Sequence{peer.acks_from}, {}, &wire::SequenceRange::first);
    auto at = static_cast<std::size_t>(next - ranges.begin());
    for (std::size_t sent = 0, i = 0; i < acks_at_once; ++i) {
        if (at >= ranges.size()) at = 0;
        const auto count = std::min({most, ranges.size() - at, ranges.size() - sent});
        Ack::encode(number(peer.received.cumulative()), ranges.subspan(at, count), ack_bytes);
        const ConstData body(ack_bytes);
        transmit(peer, {.type = DataflowType::ack, .message = peer.next_message++}, std::span(&body, 1), body.size());
        at += count;
        sent += count;
        if (sent == ranges.size()) break;
    }
    peer.acks_from = at < ranges.size() ? number(ranges[at].first) : 0;
}

}  // namespace weir::messaging
