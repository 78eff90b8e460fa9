// SPDX-License-Identifier: Apache-2.0
#include "tcp_links.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::messaging {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t input_room = 4 * wire::datagram_size_max;
constexpr std::size_t unidentified_max = 64;         // connections without a first datagram
constexpr std::chrono::seconds identify_timeout{5};  // for the first datagram
constexpr std::chrono::milliseconds pause_min = 20ms, pause_max = 1000ms;

}  // namespace

TcpLinks::TcpLinks(TcpLinkOptions options, transport::EventLoop& loop, transport::Listener listener)
    : options_(std::move(options)), loop_(loop), listener_(std::move(listener)) {}

Result<> TcpLinks::listen() {
    if (listening_) return {};
    WEIR_TRY(listener_.listen());
    WEIR_TRY(loop_.add(listener_.fd(), {.read = true}, listener_token));
    listening_ = true;
    return {};
}

Result<> TcpLinks::set_peers(const std::map<wire::StationId, transport::Address>& peers) {
    if (!peers.empty()) WEIR_TRY(listen());
    for (auto at = peers_.begin(); at != peers_.end();) {
        const auto found = peers.find(at->first);
        const bool stays = found != peers.end() && to_string(found->second) == to_string(at->second.address);
        if (!stays && at->second.connection != 0) close(at->second.connection, {});
        at = stays ? std::next(at) : peers_.erase(at);
    }
    for (const auto& [id, address] : peers)
        peers_.try_emplace(id, Peer{.address = address, .we_connect = options_.self < id});
    return {};
}

TcpLinks::Connection* TcpLinks::find(std::uint64_t token) {
    const auto found = connections_.find(token);
    return found == connections_.end() ? nullptr : found->second.get();
}

bool TcpLinks::carry(wire::StationId to, std::span<const ConstData> datagram) {
    const auto peer = peers_.find(to);
    auto* connection = peer == peers_.end() ? nullptr : find(peer->second.connection);
    if (connection == nullptr || connection->connecting) return false;
    std::size_t size = 0;
    for (const auto piece : datagram) size += piece.size();
    if (connection->out.size() - connection->out_done + size > options_.queue_max) return false;
    for (const auto piece : datagram) connection->out.insert(connection->out.end(), piece.begin(), piece.end());
    return true;
}

void TcpLinks::flush() {
    for (auto& [id, peer] : peers_) {
        auto* connection = find(peer.connection);
        if (connection == nullptr || connection->connecting || connection->broken || connection->interest.write ||
            connection->out.empty() || write(peer.connection, *connection))
            continue;
        connection->broken = true;  // step() closes it, which has the time
        loop_.wake();
    }
}

/// False: the connection is over.
bool TcpLinks::write(std::uint64_t token, Connection& connection) {
    while (connection.out_done < connection.out.size()) {
        const auto result = connection.socket.write(ConstData(connection.out).subspan(connection.out_done));
        if (!result) report_broken(connection, result.error());
        if (!result || result->state == transport::Transfer::State::closed) return false;
        if (result->state == transport::Transfer::State::would_block) break;
        connection.out_done += result->count;
    }
    if (connection.out_done == connection.out.size()) {
        connection.out.clear();
        connection.out_done = 0;
    } else if (connection.out_done > options_.queue_max) {
        // Removes whole datagrams that were sent, so that the vector stays within twice the bound.
        std::size_t gone = 0;
        while (true) {
            const auto size = wire::datagram_size(ConstData(connection.out).subspan(gone, wire::datagram_header_size));
            if (!size || gone + *size > connection.out_done) break;
            gone += *size;
        }
        connection.out.erase(connection.out.begin(), connection.out.begin() + static_cast<std::ptrdiff_t>(gone));
        connection.out_done -= gone;
    }
    set_interest(token, connection);
    return true;
}

void TcpLinks::set_interest(std::uint64_t token, Connection& connection) {
    const auto wanted = connection.socket.waits_for(
        {.read = !connection.connecting, .write = connection.connecting || !connection.out.empty()});
    if (wanted == connection.interest) return;
    if (loop_.change(connection.socket.fd(), wanted, token)) connection.interest = wanted;
}

void TcpLinks::on_ready(const transport::EventLoop::Ready& ready, SteadyTime now, const Listeners& listeners) {
    if (ready.token == listener_token) return accept(now);
    auto* connection = find(ready.token);
    if (connection == nullptr) return;
    if (connection->broken) return close(ready.token, now);
    if (connection->connecting) return connected(ready.token, *connection, now, listeners);
    // With TLS a write may wait for bytes to come, and a read for room.
    const bool secure = connection->socket.secure();
    if (!secure && ready.write && !write(ready.token, *connection)) return close(ready.token, now);
    if ((secure || ready.read || ready.gone) && !read(ready.token, *connection, listeners))
        return close(ready.token, now);
    if (secure && !write(ready.token, *connection)) close(ready.token, now);
}

void TcpLinks::connected(std::uint64_t token, Connection& connection, SteadyTime now, const Listeners& listeners) {
    if (connection.socket.pending_error() != 0) return close(token, now);
    if (options_.tls && !options_.tls->client.connect(connection.socket, {})) return close(token, now);
    connection.connecting = false;
    set_interest(token, connection);
    listeners.connected(connection.peer);
}

void TcpLinks::accept(SteadyTime now) {
    for (int i = 0; i < 16; ++i) {
        auto socket = listener_.accept();
        if (!socket) {
            // Out of descriptors: the listener would stay ready. step() tries again.
            accept_paused_ = loop_.change(listener_.fd(), {}, listener_token).has_value();
            return;
        }
        if (!*socket) return;
        const auto unidentified = std::count_if(connections_.begin(), connections_.end(), [](const auto& entry) {
            return entry.second->peer == wire::StationId{0};
        });
        if (static_cast<std::size_t>(unidentified) >= unidentified_max) continue;
        auto connection = std::make_unique<Connection>();
        connection->socket = std::move(**socket);
        if (options_.tls && !options_.tls->server.accept(connection->socket)) continue;  // out of memory
        connection->opened = now;
        connection->interest = {.read = true};
        if (!loop_.add(connection->socket.fd(), connection->interest, next_token_)) continue;
        connections_.emplace(next_token_++, std::move(connection));
    }
}

void TcpLinks::connect(wire::StationId id, Peer& peer, SteadyTime now) {
    peer.pause = std::clamp(2 * peer.pause, pause_min, pause_max);
    peer.next_try = now + peer.pause;
    auto socket = transport::begin_connect(peer.address, tcp_link_options, listener_.local().without_port());
    if (!socket) return;
    auto connection = std::make_unique<Connection>();
    connection->socket = std::move(*socket);
    connection->peer = id;
    connection->connecting = true;
    connection->opened = now;
    connection->interest = {.write = true};
    if (!loop_.add(connection->socket.fd(), connection->interest, next_token_)) return;
    peer.connection = next_token_;
    connections_.emplace(next_token_++, std::move(connection));
}

/// False: the connection is over.
bool TcpLinks::read(std::uint64_t token, Connection& connection, const Listeners& listeners) {
    if (connection.in.empty()) connection.in.resize(input_room);
    do {
        const auto result = connection.socket.read(MutableData(connection.in).subspan(connection.in_size));
        if (!result) report_broken(connection, result.error());
        if (!result || result->state == transport::Transfer::State::closed) return false;
        if (result->state == transport::Transfer::State::would_block) break;
        connection.in_size += result->count;
        if (!take_datagrams(token, connection, listeners)) return false;
    } while (connection.socket.unread());
    return true;
}

/// A fault that TLS found is for an operator; a connection that broke is not.
void TcpLinks::report_broken(const Connection& connection, const Error& error) {
    if (!connection.socket.secure()) return;
    ++insecure_;
    const auto address = to_string(connection.socket.peer());
    const auto who = connection.peer == wire::StationId{0}
                         ? address
                         : fmt::format("station {} at {}", number(connection.peer), address);
    options_.report({.severity = Severity::warning,
                     .what = "a TCP link was ended",
                     .where = who,
                     .why = error.message(),
                     .advice = "parts of a partition show its own key, or certificates of its authority with the "
                               "organizational unit of stations"});
}

/// False: these bytes are no datagrams, or come from a station that is not expected on this connection.
bool TcpLinks::take_datagrams(std::uint64_t token, Connection& connection, const Listeners& listeners) {
    ConstData rest = ConstData(connection.in).first(connection.in_size);
    while (rest.size() >= wire::datagram_header_size) {
        const auto size = wire::datagram_size(rest.first(wire::datagram_header_size));
        if (!size) return false;
        if (rest.size() < *size) break;
        const auto datagram = rest.first(*size);
        if (connection.peer == wire::StationId{0} && !identify(token, connection, datagram, listeners)) return false;
        if (wire::claimed_sender(datagram) != connection.peer) {
            ++foreign_;
            return false;
        }
        connection.worked = true;
        listeners.datagram(datagram);
        rest = rest.subspan(*size);
    }
    std::copy(rest.begin(), rest.end(), connection.in.begin());
    connection.in_size = rest.size();
    return true;
}

bool TcpLinks::identify(std::uint64_t token, Connection& connection, ConstData datagram, const Listeners& listeners) {
    const auto header = wire::decode_datagram(datagram, options_.key);
    const auto peer = header ? peers_.find(header->from) : peers_.end();
    if (peer == peers_.end()) {
        listeners.datagram(datagram);  // counts it
        return false;
    }
    if (!connection.socket.peer().same_host(peer->second.address)) {
        ++foreign_;
        return false;
    }
    if (peer->second.connection != 0) close(peer->second.connection, {});  // a newer one replaces the older
    connection.peer = header->from;
    peer->second.connection = token;
    return true;
}

void TcpLinks::close(std::uint64_t token, SteadyTime now) {
    const auto found = connections_.find(token);
    if (found == connections_.end()) return;
    const auto& connection = *found->second;
    for (std::size_t at = 0; at < connection.out.size();) {
        const auto size = wire::datagram_size(ConstData(connection.out).subspan(at, wire::datagram_header_size));
        if (!size) break;
        at += *size;
        if (at > connection.out_done) ++lost_;
    }
    if (const auto peer = peers_.find(connection.peer); peer != peers_.end() && peer->second.connection == token) {
        peer->second.connection = 0;
        if (connection.worked) peer->second.pause = pause_min;
        peer->second.next_try = now + peer->second.pause;
    }
    loop_.remove(connection.socket.fd());
    connections_.erase(found);
}

SteadyTime TcpLinks::step(SteadyTime now) {
    auto again = SteadyTime::max();
    if (accept_paused_ && loop_.change(listener_.fd(), {.read = true}, listener_token)) accept_paused_ = false;
    for (auto at = connections_.begin(); at != connections_.end();) {
        const auto token = at->first;
        const auto& connection = *(at++)->second;
        if (connection.broken) {
            close(token, now);
            continue;
        }
        const bool waits = connection.connecting || connection.peer == wire::StationId{0};
        if (!waits) continue;
        if (now - connection.opened >= identify_timeout) close(token, now);
        else again = std::min(again, connection.opened + identify_timeout);
    }
    for (auto& [id, peer] : peers_) {
        if (!peer.we_connect || peer.connection != 0) continue;
        if (now >= peer.next_try) connect(id, peer, now);
        again = std::min(again, peer.connection == 0 ? peer.next_try : now + identify_timeout);
    }
    return again;
}

std::size_t TcpLinks::connected() const noexcept {
    std::size_t count = 0;
    for (const auto& [token, connection] : connections_)
        count += !connection->connecting && connection->peer != wire::StationId{0} ? 1U : 0U;
    return count;
}

}  // namespace weir::messaging
