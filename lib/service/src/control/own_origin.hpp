// SPDX-License-Identifier: Apache-2.0
// Whether a browser sends a request for a page that came from this server. Any page that is open in it can make it send
// requests here; it says in `Origin` whose page that is.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <string>
#include <string_view>

namespace weir::service {

/// `origin` and `host` are the headers, `secure`: over TLS. Without TLS only an address or localhost is ours: the owner
/// of any other name can let it lead here for a moment (DNS rebinding), and then `Host` is his name too.
[[nodiscard]] inline bool is_own_origin(std::string_view origin, std::string_view host, bool secure) {
    const std::string_view scheme = secure ? "https://" : "http://";
    if (host.empty() || !origin.starts_with(scheme)) return false;
    if (!boost::beast::iequals(origin.substr(scheme.size()), host)) return false;
    if (secure) return true;
    std::string_view name = host.substr(0, host.starts_with('[') ? host.find(']') : host.rfind(':'));
    if (name.starts_with('[')) name.remove_prefix(1);
    boost::system::error_code no_address;
    boost::asio::ip::make_address(std::string(name), no_address);
    return !no_address || boost::beast::iequals(name, "localhost");
}

}  // namespace weir::service
