// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "socket_setup.hpp"
#include "weir/transport/socket.hpp"

namespace weir::transport {
namespace {

const char* advice(int os_errno) noexcept {
    switch (os_errno) {
        case EADDRINUSE:
            return "stop the other program or choose another port (--listen; in a partition file, the station's input)";
        case EACCES:
            return "ports below 1024 need a privilege; choose another one (--listen; in a partition file, the "
                   "station's input)";
        case EADDRNOTAVAIL:
            return "this machine has no such address; choose one of its own (--listen; in a partition file, the "
                   "station's input)";
        default: return "choose another address (--listen; in a partition file, the station's input)";
    }
}

}  // namespace

std::unexpected<Error> cannot_listen(const HostPort& where, int os_errno) {
    // The system's reason stands in the middle of the line, so it is not left to Error::message().
    return fail(Errc::io, fmt::format("cannot listen on {}: {}; {}", to_string(where),
                                      std::system_category().message(os_errno), advice(os_errno)));
}

Result<Listener> Listener::open(const HostPort& where, const SocketOptions& options, int backlog) {
    auto listener = WEIR_TRY(reserve(where, options));
    WEIR_TRY(listener.listen(backlog));
    return listener;
}

Result<> Listener::listen(int backlog) {
    if (::listen(socket_.fd(), backlog) == 0) return {};
    return cannot_listen(where_, errno);
}

Result<Listener> Listener::reserve(const HostPort& where, const SocketOptions& options) {
    const auto addresses = WEIR_TRY(resolve(where, true));
    int failure = 0;
    for (const auto& address : addresses) {
        Socket socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        const int on = 1;
        if (socket && ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0) {
            set_buffers(socket.fd(), options);  // inherited by accepted sockets
            if (::bind(socket.fd(), address.data(), address.size()) == 0)
                return Listener(std::move(socket), options, where);
        }
        failure = errno;
    }
    return cannot_listen(where, failure);
}

Result<std::optional<Socket>> Listener::accept() {
    while (true) {
        Socket socket(::accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket) {
            set_connection(socket.fd(), options_);
            return socket;
        }
        switch (errno) {
            case EAGAIN: return std::nullopt;
            case EMFILE:
            case ENFILE:
            case ENOBUFS:
            case ENOMEM:
                return fail_errno(errno, fmt::format("cannot accept a connection on {}; raise the limit of open files "
                                                     "or lower the number of senders",
                                                     to_string(local())));
            case EBADF:
            case EINVAL:
            case ENOTSOCK: return fail_errno(errno, "cannot accept a connection on a closed listener");
            default: continue;  // this connection died while it waited; the next one may be well
        }
    }
}

}  // namespace weir::transport
