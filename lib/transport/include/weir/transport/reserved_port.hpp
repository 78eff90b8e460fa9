// SPDX-License-Identifier: Apache-2.0
// A TCP port that is ours before anybody listens on it: others are told of it now, and the Listener opens it later, also
// several times one after the other. Until then whoever connects is refused at once, and can try again.
#pragma once

#include <cstdint>

#include "weir/base/result.hpp"
#include "weir/transport/socket.hpp"

namespace weir::transport {

class ReservedPort {
public:
    /// Error: somebody listens there, or the address is not ours.
    [[nodiscard]] static Result<ReservedPort> take(const HostPort& where);

    /// With the port that was found for port 0.
    [[nodiscard]] const HostPort& address() const noexcept { return address_; }

private:
    ReservedPort(Socket socket, HostPort address) : socket_(std::move(socket)), address_(std::move(address)) {}
    Socket socket_;  // bound, never listening: Linux lets a Listener bind the same port then (SO_REUSEADDR on both)
    HostPort address_;
};

}  // namespace weir::transport
