// SPDX-License-Identifier: Apache-2.0
// Messages over datagrams that may be lost, doubled, overtaken or damaged: splits and puts together, acknowledges and
// sends again what was posted, and knows which peers live. No socket in it: datagrams come in by receive() and go out
// through a Link, so that tests and simulations run whole partitions in one thread.
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
#include "weir/messaging/outbox.hpp"
#include "weir/wire/datagram.hpp"

namespace weir::messaging {

inline constexpr std::size_t datagram_max_least = 512;

/// Where datagrams go. `datagram` is header and pieces of the part; read before the call returns.
class Link {
public:
    virtual ~Link() = default;
    /// False: it could not be taken now (a full socket); it is then lost, and counted by the link.
    virtual bool carry(wire::StationId to, std::span<const ConstData> datagram) = 0;
    /// Largest datagram for this peer, header included; at least datagram_max_least.
    [[nodiscard]] virtual std::size_t datagram_max(wire::StationId to) const = 0;
    /// A batch is complete: what is still held back goes out now.
    virtual void flush() = 0;
};

struct EndpointOptions {
    wire::StationId self{};
    wire::Epoch epoch{};
    std::uint32_t key = 0;
    std::uint32_t posts_max = 4096;         // unacknowledged to one peer
    Bytes reliable_bytes_max{16ULL << 20};  // to one peer
    std::uint32_t assemblies_max = 4096;    // messages of several parts under way, from all peers; the oldest goes
    std::chrono::milliseconds assembly_timeout{2000};
    std::chrono::milliseconds resend_min{5};  // of posts; adapts to the measured round trip (RFC 6298)
    std::chrono::milliseconds resend_max{500};
    std::chrono::milliseconds heartbeat{200};  // to peers that are watched
    std::chrono::milliseconds silent_after{2000};
};

struct EndpointStats {
    std::uint64_t datagrams_received = 0, bytes_received = 0, datagrams_sent = 0, bytes_sent = 0;
    std::uint64_t messages_received = 0, messages_sent = 0, posts_resent = 0;
    // Datagrams that were dropped, by reason. datagrams_received counts them too.
    std::uint64_t malformed = 0, foreign_run = 0, stale_epoch = 0, unknown_station = 0, duplicates = 0,
                  inconsistent = 0;
    std::uint64_t assemblies_given_up = 0, no_memory = 0;
    std::uint64_t not_carried = 0;
    std::chrono::nanoseconds round_trip{0};  // smoothed, of the slowest peer
};

class Endpoint final : public Outbox {
public:
    /// Link and pool (for messages of several parts) outlive the endpoint.
    Endpoint(const EndpointOptions& options, Link& link, memory::BufferPool& pool);
    ~Endpoint() override;

    /// `watched`: probed regularly, so that its silence is noticed. Others are heard of when they speak.
    void add_peer(wire::StationId peer, bool watched);
    void remove_peer(wire::StationId peer);

    /// Messages of any other run are dropped and counted from now on; posts that were under way are dropped. 0: none
    /// but probes are taken, and nothing is sent. A number is used for one run only (taking up the last one again after
    /// 0 goes on where it was).
    void set_run(RunNumber run);

    /// What time it is. receive() and step() say it too; to be called before anything else that posts.
    void set_time(SteadyTime now);

    /// One datagram. Complete messages and changes of peers go to `handler`, which may send and post meanwhile.
    void receive(ConstData datagram, SteadyTime now, MessageHandler& handler);

    /// Sends again, probes, acknowledges, gives up what is too old; to be called after each batch and when due. Returns
    /// when it wants to be called again: at once, when the handler was told of a peer's silence and may have something
    /// to do.
    [[nodiscard]] SteadyTime step(SteadyTime now, MessageHandler& handler);

    using Outbox::post;
    using Outbox::send;
    void send(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override;
    [[nodiscard]] bool post(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override;

    /// Posts that were not acknowledged yet, to all peers, the silent ones included: 0 means that everything said was
    /// heard.
    [[nodiscard]] std::size_t posts_under_way() const noexcept;
    /// The same, to one peer.
    [[nodiscard]] std::size_t posts_under_way(wire::StationId peer) const noexcept;
    [[nodiscard]] bool heard(wire::StationId peer) const noexcept;

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
