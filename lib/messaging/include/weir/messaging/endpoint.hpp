// SPDX-License-Identifier: Apache-2.0
// Messages over datagrams that may be lost, duplicated, reordered or damaged. An endpoint splits messages into
// datagrams and assembles them again, repeats reliable messages until they are acknowledged, and detects which peers
// run. It has no socket: datagrams come in by receive() and go out through a Link, so that tests and simulations run
// whole partitions in one thread.
//
// One thread makes all calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/memory/buffer_pool.hpp"
#include "weir/messaging/messages.hpp"
#include "weir/wire/datagram.hpp"

namespace weir::messaging {

inline constexpr std::size_t datagram_max_least = 512;

/// Carries datagrams. `datagram` is the header and the pieces of the part; it is read before the call returns.
class Link {
public:
    virtual ~Link() = default;
    /// False: the link could not take it now (a full socket). The datagram is lost, and the link counts it.
    virtual bool carry(wire::StationId to, std::span<const ConstData> datagram) = 0;
    /// Largest datagram for this peer, header included; at least datagram_max_least.
    [[nodiscard]] virtual std::size_t datagram_max(wire::StationId to) const = 0;
    /// A batch is complete: sends every datagram that is still queued.
    virtual void flush() = 0;
};

struct EndpointOptions {
    wire::StationId self{};
    wire::Epoch epoch{};
    std::uint32_t key = 0;
    std::uint32_t reliable_max = 4096;      // unacknowledged to one peer
    Bytes reliable_bytes_max{16ULL << 20};  // to one peer
    std::uint32_t assemblies_max = 4096;    // incomplete messages, from all peers; beyond it the oldest is discarded
    std::chrono::milliseconds assembly_timeout{2000};
    std::chrono::milliseconds resend_min{5};  // of reliable messages; adapts to the measured round trip (RFC 6298)
    std::chrono::milliseconds resend_max{500};
    std::chrono::milliseconds heartbeat{200};  // to peers that are watched
    std::chrono::milliseconds silent_after{2000};
};

struct EndpointStats {
    std::uint64_t datagrams_received = 0, bytes_received = 0, datagrams_sent = 0, bytes_sent = 0;
    std::uint64_t messages_received = 0, messages_sent = 0, reliable_resent = 0;
    // Datagrams that were discarded, by reason. datagrams_received counts them too.
    std::uint64_t malformed = 0, foreign_run = 0, stale_epoch = 0, unknown_station = 0, duplicates = 0,
                  inconsistent = 0;
    std::uint64_t assemblies_discarded = 0, no_memory = 0;
    std::uint64_t not_carried = 0;
    std::chrono::nanoseconds round_trip{0};  // smoothed, of the slowest peer
};

class Endpoint final : public MessageSender {
public:
    /// Link and pool (for messages of several parts) outlive the endpoint.
    Endpoint(const EndpointOptions& options, Link& link, memory::BufferPool& pool);
    ~Endpoint() override;

    /// `watched`: probed regularly, so that its silence is detected. Other peers are reachable once they have sent a
    /// datagram.
    void add_peer(wire::StationId peer, bool watched);
    void remove_peer(wire::StationId peer);

    /// From now on, messages of any other run are discarded and counted. Reliable messages in flight are discarded. 0:
    /// only probes are accepted, and no messages are sent. A number is used for one run only. Setting the last run
    /// again after 0 continues it, with its message numbers.
    void set_run(RunNumber run);

    /// Sets the current time, as receive() and step() do. Call it before sending outside of them.
    void set_time(SteadyTime now);

    /// Takes one datagram. Complete messages and changes of peers go to `handler`, which may send during the call.
    void receive(ConstData datagram, SteadyTime now, MessageHandler& handler);

    /// Retries, probes, acknowledges, and discards incomplete messages that are too old. Call it after each batch and
    /// when due. Returns the time of the next call: `now` when the handler was notified of a silent peer and may have
    /// work to do.
    [[nodiscard]] SteadyTime step(SteadyTime now, MessageHandler& handler);

    using MessageSender::send;
    using MessageSender::send_reliably;
    void send(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override;
    [[nodiscard]] bool send_reliably(wire::StationId to, wire::DataflowType type,
                                     std::span<const ConstData> pieces) override;

    /// Reliable messages that are not acknowledged yet, to all peers, silent ones included. 0: every reliable message
    /// was delivered.
    [[nodiscard]] std::size_t reliable_in_flight() const noexcept;
    /// The same, to one peer.
    [[nodiscard]] std::size_t reliable_in_flight(wire::StationId peer) const noexcept;
    /// A datagram of the peer came within EndpointOptions::silent_after.
    [[nodiscard]] bool reachable(wire::StationId peer) const noexcept;

    /// Sends a probe in a datagram of this size, header included; probed() is the largest that the peer's process
    /// answered.
    void probe(wire::StationId peer, std::size_t datagram_size);
    [[nodiscard]] std::size_t probed(wire::StationId peer) const noexcept;

    [[nodiscard]] const EndpointStats& stats() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weir::messaging
