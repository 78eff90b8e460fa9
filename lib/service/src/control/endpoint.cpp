// SPDX-License-Identifier: Apache-2.0
#include "control/endpoint.hpp"

#include <fmt/format.h>

#include <charconv>

namespace weir::service {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

Result<Tcp::endpoint> parse_endpoint(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon != text.npos) {
        auto host = text.substr(0, colon);
        const auto digits = text.substr(colon + 1);
        if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
        if (host == "localhost") host = "127.0.0.1";
        std::uint16_t port = 0;
        const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
        boost::system::error_code not_an_address;
        const auto address = asio::ip::make_address(std::string(host), not_an_address);
        if (!digits.empty() && ec == std::errc{} && end == digits.data() + digits.size() && !not_an_address)
            return Tcp::endpoint(address, port);
    }
    return fail(Errc::usage, fmt::format("\"{}\" is not an address; write address:port, for example "
                                         "127.0.0.1:9100 or [::1]:9100",
                                         text.substr(0, 100)));
}

}  // namespace weir::service
