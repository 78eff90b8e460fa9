// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/address.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <memory>

namespace weir::transport {

Result<HostPort> parse_host_port(std::string_view text) {
    const auto bad = [text] {
        return fail(Errc::usage, fmt::format("\"{}\" is not an address; write host:port, for example localhost:9000, "
                                             "[::1]:9000 or :9000 for every interface",
                                             text.substr(0, 200)));
    };
    const auto colon = text.rfind(':');
    if (colon == text.npos) return bad();
    auto host = text.substr(0, colon);
    const auto digits = text.substr(colon + 1);
    if (host.starts_with('[')) {
        if (!host.ends_with(']') || host.size() < 3) return bad();
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != host.npos) {
        return bad();  // an IPv6 address without brackets: where does the port begin?
    }
    HostPort address{.host = std::string(host)};
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
    if (failure != std::errc{} || end != digits.data() + digits.size() || host.find_first_of(" \t\n") != host.npos)
        return bad();
    return address;
}

std::string to_string(const HostPort& address) {
    if (address.host.find(':') != std::string::npos) return fmt::format("[{}]:{}", address.host, address.port);
    return fmt::format("{}:{}", address.host, address.port);
}

Address::Address(const sockaddr* address, socklen_t size) noexcept
    : size_(std::min<socklen_t>(size, sizeof(storage_))) {
    std::memcpy(&storage_, address, size_);
}

std::uint16_t Address::port() const noexcept {
    if (family() == AF_INET) {
        sockaddr_in in;
        std::memcpy(&in, &storage_, sizeof(in));
        return ntohs(in.sin_port);
    }
    if (family() == AF_INET6) {
        sockaddr_in6 in;
        std::memcpy(&in, &storage_, sizeof(in));
        return ntohs(in.sin6_port);
    }
    return 0;
}

bool Address::loopback() const noexcept {
    if (family() == AF_INET) {
        sockaddr_in in;
        std::memcpy(&in, &storage_, sizeof(in));
        return ntohl(in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (family() != AF_INET6) return false;
    sockaddr_in6 in;
    std::memcpy(&in, &storage_, sizeof(in));
    return IN6_IS_ADDR_LOOPBACK(&in.sin6_addr);
}

bool Address::unspecified() const noexcept {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    sockaddr_in6 any6{};
    any6.sin6_family = AF_INET6;
    return size_ == 0 || same_host(Address(reinterpret_cast<const sockaddr*>(&any), sizeof(any))) ||
           same_host(Address(reinterpret_cast<const sockaddr*>(&any6), sizeof(any6)));
}

Address Address::without_port() const noexcept {
    static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
    auto host = *this;
    std::memset(reinterpret_cast<std::byte*>(&host.storage_) + offsetof(sockaddr_in, sin_port), 0, sizeof(in_port_t));
    return host;
}

bool Address::same_host(const Address& other) const noexcept {
    if (family() != other.family()) return false;
    if (family() == AF_INET) {
        constexpr auto at = offsetof(sockaddr_in, sin_addr);
        return std::memcmp(reinterpret_cast<const std::byte*>(&storage_) + at,
                           reinterpret_cast<const std::byte*>(&other.storage_) + at, sizeof(in_addr)) == 0;
    }
    constexpr auto at = offsetof(sockaddr_in6, sin6_addr);
    return family() == AF_INET6 &&
           std::memcmp(reinterpret_cast<const std::byte*>(&storage_) + at,
                       reinterpret_cast<const std::byte*>(&other.storage_) + at, sizeof(in6_addr)) == 0;
}

std::string to_string(const Address& address) {
    std::array<char, NI_MAXHOST> host{};
    if (address.size() == 0 ||
        ::getnameinfo(address.data(), address.size(), host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return "an unknown address";
    return to_string(HostPort{host.data(), address.port()});
}

Result<std::vector<Address>> resolve(const HostPort& address, bool passive) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
    addrinfo* found = nullptr;
    const auto port = std::to_string(address.port);
    const int failure =
        ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(), port.c_str(), &hints, &found);
    if (failure == EAI_SYSTEM) return fail_errno(errno, fmt::format("cannot find the host of {}", to_string(address)));
    if (failure != 0)
        return fail(Errc::io, fmt::format("cannot find the host of {}: {}; check its name", to_string(address),
                                          ::gai_strerror(failure)));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
    std::vector<Address> addresses;
    for (const auto* entry = found; entry != nullptr; entry = entry->ai_next)
        addresses.emplace_back(entry->ai_addr, entry->ai_addrlen);
    if (addresses.empty()) return fail(Errc::io, fmt::format("the host of {} has no address", to_string(address)));
    return addresses;
}

}  // namespace weir::transport
