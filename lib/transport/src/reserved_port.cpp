// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/reserved_port.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "socket_setup.hpp"

namespace weir::transport {

Result<ReservedPort> ReservedPort::take(const HostPort& where) {
    const auto addresses = resolve(where, true);
    if (!addresses) return std::unexpected(addresses.error());
    int failure = 0;
    for (const auto& address : *addresses) {
        Socket socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
        const int on = 1;
        if (socket && ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
            ::bind(socket.fd(), address.data(), address.size()) == 0) {
            HostPort taken{where.host, socket.local().port()};
            return ReservedPort(std::move(socket), std::move(taken));
        }
        failure = errno;
    }
    return cannot_listen(where, failure);
}

}  // namespace weir::transport
