// SPDX-License-Identifier: Apache-2.0
// The options of every TCP socket, and the error for a port that cannot be opened.
#pragma once

#include "weir/transport/socket.hpp"

namespace weir::transport {

/// Kernel buffers: before listen or connect, because they decide the TCP window scale.
void set_buffers(int fd, const SocketOptions& options) noexcept;

/// No delay for small messages, and a peer that vanished is noticed after `peer_timeout`, whether bytes
/// are underway or not.
void set_connection(int fd, const SocketOptions& options) noexcept;

/// In one line, with the remedy.
[[nodiscard]] std::unexpected<Error> cannot_listen(const HostPort& where, int os_errno);

}  // namespace weir::transport
