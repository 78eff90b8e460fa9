// SPDX-License-Identifier: Apache-2.0
// TCP connections to peers, carrying the same datagrams one behind the other. The station with the lower id connects,
// and reconnects after a pause when the connection is lost; the other one identifies it by its first datagram. The
// queue of a connection is bounded. The port does not listen before there is such a peer; with TLS, nothing
// that a connection brings is looked at before the other side has shown its certificate.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/base/report.hpp"
#include "weir/transport/event_loop.hpp"
#include "weir/transport/socket.hpp"
#include "weir/transport/tls.hpp"
#include "weir/wire/datagram.hpp"

namespace weir::messaging {

/// The silence of a peer that vanished is detected long before this; it only closes the connection.
inline constexpr transport::SocketOptions tcp_link_options{.peer_timeout = std::chrono::milliseconds(10'000)};

/// Both ends of TLS.
struct LinkTls {
    transport::TlsContext server, client;
};

struct TcpLinkOptions {
    wire::StationId self{};
    std::uint32_t key = 0;
    std::size_t queue_max = 0;     // bytes
    std::optional<LinkTls> tls{};  // nothing: plain TCP
    Reporter report{};             // of connections that ended because of TLS
};

class TcpLinks {
public:
    /// `datagram`: a datagram was received. `connected`: the connection to this peer was established; the first
    /// datagram on it has to identify this station.
    struct Listeners {
        std::function<void(ConstData)> datagram;
        std::function<void(wire::StationId)> connected;
    };

    /// The listener has its port, and does not listen yet.
    TcpLinks(TcpLinkOptions options, transport::EventLoop& loop, transport::Listener listener);

    static constexpr std::uint64_t listener_token = 1;
    static constexpr std::uint64_t first_token = 2;  // of connections, and all above

    /// Error: the port cannot be opened; all stays as it was.
    [[nodiscard]] Result<> set_peers(const std::map<wire::StationId, transport::Address>& peers);

    /// False: there is no connection, or too much waits on it.
    bool carry(wire::StationId to, std::span<const ConstData> datagram);
    void flush();

    void on_ready(const transport::EventLoop::Ready& ready, SteadyTime now, const Listeners& listeners);
    /// Connects where it is time to. Returns when it wants to be called again.
    [[nodiscard]] SteadyTime step(SteadyTime now);
    [[nodiscard]] std::size_t connected() const noexcept;
    /// Datagrams that waited on a connection when it ended.
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
    /// Datagrams whose connection came from elsewhere than the station they name, or had named another one.
    [[nodiscard]] std::uint64_t foreign() const noexcept { return foreign_; }
    /// Connections that ended because of TLS.
    [[nodiscard]] std::uint64_t insecure() const noexcept { return insecure_; }

private:
    struct Connection {
        transport::Socket socket;
        wire::StationId peer{};  // 0: not identified yet
        bool connecting = false;
        bool worked = false;  // a datagram came
        bool broken = false;  // to be closed
        SteadyTime opened{};
        transport::Interest interest{};
        std::vector<std::byte> in;
        std::size_t in_size = 0;
        std::vector<std::byte> out;  // begins with the header of a datagram
        std::size_t out_done = 0;
    };
    struct Peer {
        transport::Address address;
        bool we_connect = false;
        std::uint64_t connection = 0;  // its token; 0: none
        SteadyTime next_try{};
        std::chrono::milliseconds pause{0};
    };
    using Connections = std::map<std::uint64_t, std::unique_ptr<Connection>>;

    void accept(SteadyTime now);
    void connect(wire::StationId id, Peer& peer, SteadyTime now);
    [[nodiscard]] Result<> listen();
    void connected(std::uint64_t token, Connection& connection, SteadyTime now, const Listeners& listeners);
    bool read(std::uint64_t token, Connection& connection, const Listeners& listeners);
    bool take_datagrams(std::uint64_t token, Connection& connection, const Listeners& listeners);
    bool identify(std::uint64_t token, Connection& connection, ConstData datagram, const Listeners& listeners);
    bool write(std::uint64_t token, Connection& connection);
    void report_broken(const Connection& connection, const Error& error);
    void close(std::uint64_t token, SteadyTime now);
    void set_interest(std::uint64_t token, Connection& connection);
    [[nodiscard]] Connection* find(std::uint64_t token);

    const TcpLinkOptions options_;
    transport::EventLoop& loop_;
    transport::Listener listener_;
    std::map<wire::StationId, Peer> peers_;
    Connections connections_;
    std::uint64_t next_token_ = first_token;
    std::uint64_t lost_ = 0;
    std::uint64_t foreign_ = 0;
    std::uint64_t insecure_ = 0;
    bool listening_ = false, accept_paused_ = false;
};

}  // namespace weir::messaging
