// SPDX-License-Identifier: Apache-2.0
// A TCP socket that is never waited on: every call answers at once, and "would block" is an answer.
// Waiting is the business of an EventLoop. With a TlsContext it uses TLS; its users read and write as before.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/transport/address.hpp"

namespace weir::transport {

struct SocketOptions {
    Bytes receive_buffer{0};  // of the kernel; 0: let it tune itself
    Bytes send_buffer{0};
    std::chrono::milliseconds peer_timeout{30'000};  // sent bytes unacknowledged, or silence of a dead peer
};

/// The outcome of a read or write. A peer that is gone is `closed`; any other failure is an Error.
struct Transfer {
    enum class State { done, would_block, closed } state = State::done;
    std::size_t count = 0;  // more than 0 when done
};

/// The events to wait for at a socket.
struct Interest {
    bool read = false;
    bool write = false;

    bool operator==(const Interest&) const = default;
};

class TlsSession;
struct TlsSessionEnd {
    void operator()(TlsSession* session) const noexcept;
};

class Socket {
public:
    Socket() = default;
    explicit Socket(int fd) noexcept : fd_(fd) {}
    Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)), tls_(std::move(other.tls_)) {}
    Socket& operator=(Socket&& other) noexcept;
    ~Socket() { close(); }

    [[nodiscard]] int fd() const noexcept { return fd_; }
    [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
    void close() noexcept;

    /// Ends the sending direction; reading goes on.
    void finish_sending() noexcept;

    /// A write that would block is tried again with the same bytes in front (TLS has encrypted some of them already).
    [[nodiscard]] Result<Transfer> read(MutableData target) const;
    [[nodiscard]] Result<Transfer> read(std::span<const iovec> targets) const;
    [[nodiscard]] Result<Transfer> write(ConstData source) const;
    [[nodiscard]] Result<Transfer> write(std::span<const iovec> sources) const;

    /// The events to wait for before the wanted operation: with TLS, a write may wait for bytes to come, a read for
    /// room.
    [[nodiscard]] Interest waits_for(Interest wanted) const noexcept;
    /// The last read left bytes behind that the kernel does not know of: read again without waiting. Only with TLS.
    [[nodiscard]] bool unread() const noexcept;
    [[nodiscard]] bool secure() const noexcept { return tls_ != nullptr; }
    /// The names that the other side's certificate is made out to (subject and alternative names for hosts); empty
    /// before the handshake, and without TLS.
    [[nodiscard]] std::vector<std::string> peer_names() const;
    /// The other side has shown that it is a part of our own system (TlsFiles::unit); false before the handshake.
    [[nodiscard]] bool with_part() const noexcept;

    [[nodiscard]] Address local() const noexcept;
    [[nodiscard]] Address peer() const noexcept;

    /// After a connect became writable: how it ended (errno, 0 = connected).
    [[nodiscard]] int pending_error() const noexcept;

private:
    friend class TlsContext;
    int fd_ = -1;
    std::unique_ptr<TlsSession, TlsSessionEnd> tls_;  // none: plain TCP
};

/// Begins to connect; the socket becomes writable when that has ended, see pending_error(). An error is
/// one that is known at once. No delay for small messages, keep-alive and options are set. `from`: the address of this
/// machine that the peer sees; unspecified: the one that the route has.
[[nodiscard]] Result<Socket> begin_connect(const Address& address, const SocketOptions& options,
                                           const Address& from = {});

/// A socket that accepts connections. Error, for example: "cannot listen on 127.0.0.1:9000: Address
/// already in use; stop the other program or choose another port with --listen".
class Listener {
public:
    [[nodiscard]] static Result<Listener> open(const HostPort& where, const SocketOptions& options = {},
                                               int backlog = 1024);
    /// The first half of open(): the port is taken, and connections are refused until listen().
    [[nodiscard]] static Result<Listener> reserve(const HostPort& where, const SocketOptions& options = {});
    [[nodiscard]] Result<> listen(int backlog = 1024);

    [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
    [[nodiscard]] std::uint16_t port() const noexcept { return socket_.local().port(); }
    [[nodiscard]] Address local() const noexcept { return socket_.local(); }

    /// The next connection; nothing when none waits. A connection that died in the queue is passed over.
    /// Error: out of file descriptors or memory: wait before the next try.
    [[nodiscard]] Result<std::optional<Socket>> accept();
    void close() noexcept { socket_.close(); }

private:
    Listener(Socket socket, SocketOptions options, HostPort where)
        : socket_(std::move(socket)), options_(options), where_(std::move(where)) {}
    Socket socket_;
    SocketOptions options_;
    HostPort where_;  // for messages
};

}  // namespace weir::transport
