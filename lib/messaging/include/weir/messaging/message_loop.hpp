// SPDX-License-Identifier: Apache-2.0
// Sockets below an Endpoint: one UDP socket with batches in and out, TCP connections to the peers with such a link,
// and one thread that waits for all of it and runs a station's logic. With an input thread of its own, it also
// receives while the logic computes; that thread wakes the logic once for a batch (or, to measure what that costs, for
// each datagram).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/messaging/endpoint.hpp"
#include "weir/transport/address.hpp"
#include "weir/transport/tls.hpp"

namespace weir::messaging {

enum class LinkKind : std::uint8_t { udp, tcp };
/// wake_per_datagram exists to measure what a wake-up for each datagram costs. It takes datagrams from the kernel one
/// by one.
enum class InputThread : std::uint8_t { none, wake_per_batch, wake_per_datagram };

struct MessageLoopOptions {
    transport::HostPort listen{"127.0.0.1", 0};  // UDP and TCP, the same port; 0: any free one. TCP
                                                 // listens from the first peer on that is linked to over TCP
    std::size_t datagram_max = 65'507;  // of UDP, with our header; best what the network carries whole (1472, 8972)
    Bytes receive_buffer{16ULL << 20};  // of the kernel for the UDP socket; the kernel may grant less (see stats)
    Bytes send_buffer{4ULL << 20};
    InputThread input = InputThread::none;
    std::uint32_t batch = 64;  // datagrams taken from the kernel at once
    // Only without an input thread, and while datagrams come faster than the loop takes them one by one: the time for
    // which they gather in the socket, so that one wake-up serves many. For stations that have many answers in flight;
    // a single answer is delayed by this time.
    std::chrono::microseconds gather{0};
    Bytes tcp_queue{
        32ULL << 20};           // queued for one TCP connection; beyond it datagrams are discarded, as by a full socket
    transport::TlsFiles tls{};  // when named: TCP links are under TLS, with `unit` to parts only. Never datagrams
    Reporter report{};          // of TCP connections that ended because of TLS; in the thread of run() or probe()
    EndpointOptions endpoint{};
};

struct LinkPeer {
    wire::StationId id{};
    transport::HostPort address{};
    LinkKind link = LinkKind::udp;  // the same at both ends (links_to() ensures it)
    bool watched = false;
};

struct MessageLoopStats {
    EndpointStats endpoint;
    std::uint64_t kernel_drops =
        0;  // datagrams that the kernel discarded because the socket was full; at most 10 ms old while any come
    std::uint64_t foreign_address =
        0;  // datagrams discarded because they came from elsewhere than the station they name
    std::uint64_t send_failures =
        0;  // datagrams that the kernel did not take, or that were on a TCP connection that broke
    std::uint64_t receive_calls = 0, send_calls = 0;
    std::uint64_t wakes = 0;            // of the logic: by the input thread, or without one from waiting for sockets
    Bytes receive_buffer{};             // what the kernel granted
    std::uint64_t tcp_connections = 0;  // that are open
    std::uint64_t insecure = 0;         // connections that ended because of TLS: no or a wrong certificate, other bytes
};

class MessageLoop {
public:
    /// Opens the sockets. Error: the address is taken ("two stations on one port"), or cannot be had here; usage: a
    /// file of TLS does not fit.
    [[nodiscard]] static Result<std::unique_ptr<MessageLoop>> open(const MessageLoopOptions& options,
                                                                   memory::BufferPool& pool, const Clock& clock);
    ~MessageLoop();

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// Replaces the list of peers. Before run(), or by call(); not from within the handler. Messages in flight to peers
    /// that stay are kept. Error: a peer's address cannot be used, or the TCP port cannot be opened; all stays as it
    /// was.
    [[nodiscard]] Result<> set_peers(const std::vector<LinkPeer>& peers);

    /// Checks that datagrams of datagram_max reach every peer. A peer answers probes while it is in run() or probe(),
    /// and once this station is in its list of peers: all stations are connected at the same time. Before run(). The
    /// error names the peer, and either the size that does not arrive or that the peer does not answer.
    [[nodiscard]] Result<> probe(std::chrono::milliseconds deadline, MessageHandler& handler);

    /// Waits and works until stop is requested, then flushes what is to be sent. The handler is called from this
    /// thread only.
    void run(const std::stop_token& stop, MessageHandler& handler);

    /// From any thread: the thread in run() does `work` soon, in order. The queue is not bounded: it is for control,
    /// and for workers that submit at most one piece each.
    void call(std::function<void()> work);

    [[nodiscard]] Endpoint& endpoint() noexcept;   // from the thread in run() only
    [[nodiscard]] MessageLoopStats stats() const;  // any thread; a copy that is at most a batch old

private:
    class Wiring;
    explicit MessageLoop(std::unique_ptr<Wiring> wiring);
    std::unique_ptr<Wiring> wiring_;
};

}  // namespace weir::messaging
