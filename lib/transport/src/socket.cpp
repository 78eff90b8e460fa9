// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/socket.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "socket_setup.hpp"
#include "tls_session.hpp"

namespace weir::transport {
namespace {

void set_int(int fd, int level, int option, int value) noexcept {
    // Each of these improves on a working connection; a kernel that refuses one leaves it working.
    static_cast<void>(::setsockopt(fd, level, option, &value, sizeof(value)));
}

int as_int(std::uint64_t value) noexcept {
    return static_cast<int>(std::min<std::uint64_t>(value, std::numeric_limits<int>::max()));
}

/// The meaning of a failed read or write: ordinary answers, or an error of the system.
Result<Transfer> transfer_failed(int os_errno, const char* doing, const Socket& socket) {
    switch (os_errno) {
        case EAGAIN: return Transfer{Transfer::State::would_block, 0};
        case ECONNRESET:
        case EPIPE:
        case ETIMEDOUT:
        case ENOTCONN:
        case ECONNREFUSED:
        case ECONNABORTED:
        case EHOSTUNREACH:
        case ENETUNREACH:
        case ENETDOWN: return Transfer{Transfer::State::closed, 0};
        default: return fail_errno(os_errno, fmt::format("cannot {} {}", doing, to_string(socket.peer())));
    }
}

}  // namespace

void set_buffers(int fd, const SocketOptions& options) noexcept {
    if (options.receive_buffer > Bytes{0}) set_int(fd, SOL_SOCKET, SO_RCVBUF, as_int(options.receive_buffer.count()));
    if (options.send_buffer > Bytes{0}) set_int(fd, SOL_SOCKET, SO_SNDBUF, as_int(options.send_buffer.count()));
}

void set_connection(int fd, const SocketOptions& options) noexcept {
    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    const auto timeout_ms = std::max<std::int64_t>(options.peer_timeout.count(), 1000);
    set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, as_int(static_cast<std::uint64_t>(timeout_ms)));
    constexpr int probes = 3;  // first after half the time, the rest in the other half
    set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, as_int(static_cast<std::uint64_t>(timeout_ms / 2000))));
    set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL,
            std::max(1, as_int(static_cast<std::uint64_t>(timeout_ms / 2000 / probes))));
    set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, probes);
}

Socket& Socket::operator=(Socket&& other) noexcept {
    if (this != &other) {
        close();
        fd_ = std::exchange(other.fd_, -1);
        tls_ = std::move(other.tls_);
    }
    return *this;
}

void Socket::close() noexcept {
    tls_.reset();
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Socket::finish_sending() noexcept {
    if (tls_) tls_->finish();
    if (fd_ >= 0) static_cast<void>(::shutdown(fd_, SHUT_WR));  // fails when the peer is gone, which is no error
}

Result<Transfer> Socket::read(MutableData target) const {
    const iovec one{target.data(), target.size()};
    return read(std::span(&one, 1));
}

Result<Transfer> Socket::read(std::span<const iovec> targets) const {
    if (tls_) return tls_->read(targets);
    while (true) {
        const auto count = ::readv(fd_, targets.data(), static_cast<int>(targets.size()));
        if (count > 0) return Transfer{Transfer::State::done, static_cast<std::size_t>(count)};
        if (count == 0) return Transfer{Transfer::State::closed, 0};
        if (errno != EINTR) return transfer_failed(errno, "read from", *this);
    }
}

Result<Transfer> Socket::write(ConstData source) const {
    const iovec one{const_cast<std::byte*>(source.data()), source.size()};  // the kernel only reads it
    return write(std::span(&one, 1));
}

Result<Transfer> Socket::write(std::span<const iovec> sources) const {
    if (tls_) return tls_->write(sources);
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(sources.data());
    message.msg_iovlen = sources.size();
    while (true) {
        const auto count = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
        if (count >= 0) return Transfer{Transfer::State::done, static_cast<std::size_t>(count)};
        if (errno != EINTR) return transfer_failed(errno, "write to", *this);
    }
}

Interest Socket::waits_for(Interest wanted) const noexcept { return tls_ ? tls_->waits_for(wanted) : wanted; }

std::vector<std::string> Socket::peer_names() const { return tls_ ? tls_->peer_names() : std::vector<std::string>(); }

bool Socket::with_part() const noexcept { return tls_ && tls_->with_part(); }

bool Socket::unread() const noexcept { return tls_ && tls_->unread(); }

Address Socket::local() const noexcept {
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    auto* address = reinterpret_cast<sockaddr*>(&storage);
    return ::getsockname(fd_, address, &size) == 0 ? Address(address, size) : Address();
}

Address Socket::peer() const noexcept {
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    auto* address = reinterpret_cast<sockaddr*>(&storage);
    return ::getpeername(fd_, address, &size) == 0 ? Address(address, size) : Address();
}

int Socket::pending_error() const noexcept {
    int error = 0;
    socklen_t size = sizeof(error);
    return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

Result<Socket> begin_connect(const Address& address, const SocketOptions& options, const Address& from) {
    Socket socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return fail_errno(errno, fmt::format("cannot make a socket for {}", to_string(address)));
    set_buffers(socket.fd(), options);
    set_connection(socket.fd(), options);
    if (!from.unspecified() && ::bind(socket.fd(), from.data(), from.size()) != 0)
        return fail_errno(errno, fmt::format("cannot connect from {}", to_string(from)));
    if (::connect(socket.fd(), address.data(), address.size()) != 0 && errno != EINPROGRESS && errno != EINTR)
        return fail_errno(errno, fmt::format("cannot connect to {}", to_string(address)));
    return socket;
}

}  // namespace weir::transport
