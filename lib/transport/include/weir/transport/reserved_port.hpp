// SPDX-License-Identifier: Apache-2.0
// A TCP port that is reserved before a Listener opens it: other stations get the address now, and the Listener opens it
// later, also several times one after the other. Until then connections are refused at once, and can be tried again.
#pragma once

#include <cstdint>

#include "weir/base/result.hpp"
#include "weir/transport/socket.hpp"

namespace weir::transport {

class ReservedPort {
public:
    /// While it lives, a Listener can bind the port and begin to listen, also one of another program: it is for the
    /// moment of opening. Must not outlive its port.
    class Lent {
    public:
        explicit Lent(const Socket& socket) noexcept;
        ~Lent();
        Lent(const Lent&) = delete;
        Lent& operator=(const Lent&) = delete;

    private:
        const Socket& socket_;
    };

    /// Error: the port is in use, or the address is not one of this machine.
    [[nodiscard]] static Result<ReservedPort> take(const HostPort& where);

    /// With the port that was found for port 0.
    [[nodiscard]] const HostPort& address() const noexcept { return address_; }

    [[nodiscard]] Lent lend() const noexcept { return Lent(socket_); }

private:
    ReservedPort(Socket socket, HostPort address) : socket_(std::move(socket)), address_(std::move(address)) {}
    // Bound, never listening. Linux lets two sockets bind one port where both have SO_REUSEADDR and neither listens
    // (socket(7)). Ours has it while the port is lent only, and while it is bound where connections of a program that
    // ended are still in TIME_WAIT.
    Socket socket_;
    HostPort address_;
};

}  // namespace weir::transport
