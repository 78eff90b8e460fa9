// SPDX-License-Identifier: Apache-2.0
// "127.0.0.1:9100" as Asio takes it. Numeric addresses only, so that no name service is waited for.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string_view>

#include "weir/base/result.hpp"

namespace weir::service {

[[nodiscard]] Result<boost::asio::ip::tcp::endpoint> parse_endpoint(std::string_view text);

}  // namespace weir::service
