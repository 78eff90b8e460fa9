// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/reserved_port.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "socket_setup.hpp"

namespace weir::transport {
namespace {

bool share(const Socket& socket, bool on) noexcept {
    const int value = on ? 1 : 0;
    return ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value)) == 0;
}

}  // namespace

ReservedPort::Lent::Lent(const Socket& socket) noexcept : socket_(socket) { share(socket_, true); }
ReservedPort::Lent::~Lent() { share(socket_, false); }

Result<ReservedPort> ReservedPort::take(const HostPort& where) {
    const auto addresses = WEIR_TRY(resolve(where, true));
    int failure = 0;
    for (const auto& address : addresses) {
        Socket socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
        const auto bound = [&] { return ::bind(socket.fd(), address.data(), address.size()) == 0; };
        if (socket && (bound() || (errno == EADDRINUSE && share(socket, true) && bound())) && share(socket, false)) {
            HostPort taken{where.host, socket.local().port()};
            return ReservedPort(std::move(socket), std::move(taken));
        }
        failure = errno;
    }
    return cannot_listen(where, failure);
}

}  // namespace weir::transport
