// SPDX-License-Identifier: Apache-2.0
// A network as its addresses begin ("10.77.0.0/16"), and the address that this machine has in it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.hpp"
#include "weir/transport/address.hpp"

namespace weir::transport {

/// All addresses of one version of IP that begin with the same bits.
class Network {
public:
    /// "10.77.0.0/16", "fd00:77::/64"; bits of the text behind the prefix are not looked at. Errc::usage: it is none,
    /// with the expected form.
    [[nodiscard]] static Result<Network> parse(std::string_view text);

    [[nodiscard]] bool contains(const Address& address) const noexcept;
    /// Each address in it is only reached by this machine: 127.0.0.0/8 and smaller, ::1/128.
    [[nodiscard]] bool loopback() const noexcept;

private:
    friend std::string to_string(const Network& network);
    Network() = default;
    std::array<std::uint8_t, 16> first_{};  // in the order of the network; of IPv4 the first four
    int family_ = 0;
    unsigned bits_ = 0;  // that are the same in all
};

/// "10.77.0.0/16".
[[nodiscard]] std::string to_string(const Network& network);

/// "10.77.0.3", "::1": an address in numbers, without a port and brackets. Nothing: it is none. Asks no name service.
[[nodiscard]] std::optional<Address> parse_address(std::string_view text);
/// The reverse of it.
[[nodiscard]] std::string host_of(const Address& address);

/// The first address of this machine in the network, in the order of its interfaces; of those that are up, and no
/// link-local one of IPv6, which other machines cannot use as it is. Error: there is none, with those that there are.
[[nodiscard]] Result<Address> own_address(const Network& network);

}  // namespace weir::transport
