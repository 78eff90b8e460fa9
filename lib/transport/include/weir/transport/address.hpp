// SPDX-License-Identifier: Apache-2.0
// Where a TCP peer is: "host:port" for people, a socket address for the kernel.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"

namespace weir::transport {

/// "localhost:9000", "192.168.1.2:9000", "[::1]:9000", ":9000" (every interface), port 0 to 65535.
struct HostPort {
    std::string host{};  // without brackets; empty: every interface
    std::uint16_t port = 0;

    bool operator==(const HostPort&) const = default;
};

/// Error: Errc::usage, with the expected form.
[[nodiscard]] Result<HostPort> parse_host_port(std::string_view text);
[[nodiscard]] std::string to_string(const HostPort& address);

/// An address as the kernel takes it, IPv4 or IPv6.
class Address {
public:
    Address() = default;
    Address(const sockaddr* address, socklen_t size) noexcept;

    [[nodiscard]] const sockaddr* data() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
    [[nodiscard]] socklen_t size() const noexcept { return size_; }
    [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Only this machine can reach it: 127.0.0.0/8, ::1.
    [[nodiscard]] bool loopback() const noexcept;
    /// 0.0.0.0, ::, or none at all: every interface of this machine.
    [[nodiscard]] bool unspecified() const noexcept;
    /// The same host, any port.
    [[nodiscard]] Address without_port() const noexcept;
    [[nodiscard]] bool same_host(const Address& other) const noexcept;
    /// Host and port.
    bool operator==(const Address& other) const noexcept { return same_host(other) && port() == other.port(); }

private:
    sockaddr_storage storage_{};
    socklen_t size_ = 0;
};

/// "127.0.0.1:40312", "[::1]:40312".
[[nodiscard]] std::string to_string(const Address& address);

/// All addresses of a name, in the resolver's order. May wait for the name service. `passive`: to listen.
[[nodiscard]] Result<std::vector<Address>> resolve(const HostPort& address, bool passive);

}  // namespace weir::transport
