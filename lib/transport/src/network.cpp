// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/network.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <vector>

namespace weir::transport {
namespace {

using Numbers = std::array<std::uint8_t, 16>;

/// The bytes of an address, in the order of the network. Nothing: neither IPv4 nor IPv6.
std::optional<Numbers> numbers_of(const Address& address) noexcept {
    Numbers numbers{};
    if (address.family() == AF_INET) {
        sockaddr_in in;
        std::memcpy(&in, address.data(), sizeof(in));
        std::memcpy(numbers.data(), &in.sin_addr, sizeof(in.sin_addr));
        return numbers;
    }
    if (address.family() != AF_INET6) return std::nullopt;
    sockaddr_in6 in;
    std::memcpy(&in, address.data(), sizeof(in));
    std::memcpy(numbers.data(), &in.sin6_addr, sizeof(in.sin6_addr));
    return numbers;
}

unsigned bits_of(int family) noexcept { return family == AF_INET ? 32 : 128; }

bool begins_alike(const Numbers& one, const Numbers& other, unsigned bits) noexcept {
    const auto whole = bits / 8;
    if (!std::equal(one.begin(), one.begin() + whole, other.begin())) return false;
    return bits % 8 == 0 || ((one[whole] ^ other[whole]) >> (8 - bits % 8)) == 0;
}

bool link_local(const Address& address) noexcept {
    sockaddr_in6 in;
    if (address.family() != AF_INET6) return false;
    std::memcpy(&in, address.data(), sizeof(in));
    return IN6_IS_ADDR_LINKLOCAL(&in.sin6_addr);
}

Address to_address(const Numbers& numbers, int family) noexcept {
    if (family == AF_INET) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        std::memcpy(&in.sin_addr, numbers.data(), sizeof(in.sin_addr));
        return Address(reinterpret_cast<const sockaddr*>(&in), sizeof(in));
    }
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    std::memcpy(&in.sin6_addr, numbers.data(), sizeof(in.sin6_addr));
    return Address(reinterpret_cast<const sockaddr*>(&in), sizeof(in));
}

/// Of interfaces that are up, in their order.
Result<std::vector<Address>> own_addresses() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return fail_errno(errno, "cannot list the addresses of this machine");
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
    std::vector<Address> addresses;
    for (const auto* one = first; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
        const auto family = one->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        const Address address(one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
        if (!link_local(address)) addresses.push_back(address);
    }
    return addresses;
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
    const std::string host(text);
    Numbers numbers{};
    if (::inet_pton(AF_INET, host.c_str(), numbers.data()) == 1) return to_address(numbers, AF_INET);
    if (::inet_pton(AF_INET6, host.c_str(), numbers.data()) == 1) return to_address(numbers, AF_INET6);
    return std::nullopt;
}

std::string host_of(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const auto numbers = numbers_of(address);
    if (!numbers || ::inet_ntop(address.family(), numbers->data(), text.data(), text.size()) == nullptr)
        return "an unknown address";
    return text.data();
}

Result<Network> Network::parse(std::string_view text) {
    const auto bad = [text] {
        return fail(Errc::usage, fmt::format("\"{}\" is not a network; write the address that it begins with and the "
                                             "number of its bits, for example 10.77.0.0/16 (IPv4 has 32 bits) or "
                                             "fd00:77::/64 (IPv6 has 128)",
                                             text.substr(0, 200)));
    };
    const auto slash = text.find('/');
    if (slash == text.npos) return bad();
    const auto address = parse_address(text.substr(0, slash));
    const auto digits = text.substr(slash + 1);
    Network network;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), network.bits_);
    if (!address || failure != std::errc{} || end != digits.data() + digits.size()) return bad();
    network.family_ = address->family();
    if (network.bits_ > bits_of(network.family_)) return bad();
    const auto numbers = *numbers_of(*address);
    for (unsigned i = 0; i < numbers.size(); ++i) {
        const auto kept = std::clamp(static_cast<int>(network.bits_) - static_cast<int>(8 * i), 0, 8);
        network.first_[i] = static_cast<std::uint8_t>(numbers[i] & (0xff00U >> kept));
    }
    return network;
}

bool Network::contains(const Address& address) const noexcept {
    const auto numbers = numbers_of(address);
    return numbers && address.family() == family_ && begins_alike(*numbers, first_, bits_);
}

bool Network::loopback() const noexcept {
    return bits_ >= (family_ == AF_INET ? 8U : 128U) && to_address(first_, family_).loopback();
}

std::string to_string(const Network& network) {
    return fmt::format("{}/{}", host_of(to_address(network.first_, network.family_)), network.bits_);
}

Result<Address> own_address(const Network& network) {
    const auto addresses = WEIR_TRY(own_addresses());
    const auto found =
        std::ranges::find_if(addresses, [&](const Address& address) { return network.contains(address); });
    if (found != addresses.end()) return *found;
    std::vector<std::string> texts;
    for (const auto& address : addresses) texts.push_back(host_of(address));
    return fail(Errc::io, fmt::format("this machine has no address in the network {}; it has {}", to_string(network),
                                      texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "))));
}

}  // namespace weir::transport
