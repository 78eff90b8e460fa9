// SPDX-License-Identifier: Apache-2.0
// The state of an Endpoint and of its peers. endpoint.cpp receives, endpoint_send.cpp sends, endpoint_step.cpp does
// what is due.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "link_messages.hpp"
#include "reassembly.hpp"
#include "reliable_window.hpp"
#include "weir/messaging/endpoint.hpp"
#include "weir/messaging/round_trip.hpp"
#include "weir/transport/timer_queue.hpp"
#include "weir/wire/sequence_set.hpp"

namespace weir::messaging {

inline constexpr std::chrono::milliseconds want_probe{20};  // between probes of a peer that is wanted and not reachable

struct EndpointPeer {
    explicit EndpointPeer(wire::StationId its_id, const EndpointOptions& options)
        : id(its_id), reliable(options.reliable_max, options.reliable_bytes_max.count()) {}

    /// Its silence matters: it is watched, or we wait for something from it.
    [[nodiscard]] bool minded() const noexcept { return watched || wanted || reliable.open() > 0; }

    const wire::StationId id;
    bool member = false;  // removed peers are kept, because message numbers go on if they come back
    bool watched = false;
    bool wanted = false;  // a reliable message was to be sent while the peer was not reachable
    bool reachable = false;
    bool ack_due = false;
    bool run_confirmed = false;  // it has acknowledged a message in this run, so it is in it
    wire::Epoch epoch{};         // 0: no datagram yet
    SteadyTime last_received{};
    SteadyTime last_probe{};
    std::uint64_t probe_token = 0;
    std::size_t probed = 0;          // largest probe that was answered
    std::uint64_t next_message = 1;  // of those that are not reliable
    RoundTrip round_trip;
    ReliableWindow reliable;
    wire::SequenceSet received;   // reliable messages of the peer in this run
    std::uint64_t acks_from = 0;  // where the ranges of the next acknowledgement begin, when they are too many for one
    std::array<std::uint64_t, 64>
        completed{};  // numbers of the last complete messages of several parts, at the number modulo 64
};

struct Endpoint::State {
    State(const EndpointOptions& its_options, Link& its_link, memory::BufferPool& pool)
        : options(its_options),
          link(its_link),
          reassembly(its_options.assemblies_max, its_options.assembly_timeout, pool) {}

    [[nodiscard]] EndpointPeer* find(wire::StationId id) const noexcept {
        const std::size_t index = number(id);
        return index < by_id.size() ? by_id[index].get() : nullptr;
    }
    [[nodiscard]] EndpointPeer* member(wire::StationId id) const noexcept {
        auto* peer = find(id);
        return peer != nullptr && peer->member ? peer : nullptr;
    }

    // Receiving.
    void receive(ConstData datagram, MessageHandler& handler);
    bool accept_sender(EndpointPeer& peer, const wire::DatagramHeader& header, MessageHandler& handler);
    void on_probe(EndpointPeer& peer, const wire::DatagramHeader& header, ConstData body);
    void on_ack(EndpointPeer& peer, ConstData body);
    void on_part(EndpointPeer& peer, const wire::DatagramHeader& header, ConstData part, MessageHandler& handler);
    bool accept_reliable(EndpointPeer& peer, std::uint64_t message);

    // Sending.
    void transmit(EndpointPeer& peer, wire::DatagramHeader header, std::span<const ConstData> pieces, std::size_t size);
    void transmit_reliable(EndpointPeer& peer, std::uint64_t sequence, ReliableWindow::Slot& slot);
    void carry(EndpointPeer& peer, const wire::DatagramHeader& header, std::span<const ConstData> part);
    void send_probe(EndpointPeer& peer, wire::DataflowType type, Probe probe, std::size_t datagram_size);
    void probe_now(EndpointPeer& peer);
    void want(EndpointPeer& peer);
    void send_acks(EndpointPeer& peer);
    void owe_ack(EndpointPeer& peer);

    // What is due.
    void advance(SteadyTime to);
    void resend(SteadyTime& again);
    void resend_all(EndpointPeer& peer);
    bool look_at_peers(MessageHandler& handler);
    void mark_silent(EndpointPeer& peer, MessageHandler& handler);
    void discard_reliable(EndpointPeer& peer) { reliable_open -= peer.reliable.discard(); }
    void reset_process(EndpointPeer& peer);
    void begin_run(EndpointPeer& peer);

    const EndpointOptions options;
    Link& link;
    Reassembly reassembly;
    EndpointStats stats;
    RunNumber run{};
    RunNumber last_run{};  // the one before run became 0
    SteadyTime now{};
    SteadyTime next_look{};  // at the peers
    std::size_t reliable_open = 0;
    std::vector<std::unique_ptr<EndpointPeer>> by_id;
    std::vector<wire::StationId> ids;  // those in by_id
    std::vector<wire::StationId> acks_due;
    transport::TimerQueue resends;           // peer in the high 16 bits, number of the message below
    std::vector<ConstData> part_pieces;      // of one part
    std::vector<ConstData> datagram_pieces;  // its header before them
    std::vector<std::byte> ack_bytes;
    std::vector<std::byte> padding;
};

}  // namespace weir::messaging
