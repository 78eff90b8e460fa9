// SPDX-License-Identifier: Apache-2.0
#include "stations/frame/input_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stations/frame/setting_checks.hpp"

namespace weir::app {

void InputSettings::declare(service::Settings& settings, const std::string& section, const std::string& what) {
    settings
        .add(section, "input", input_,
             "source = \"network\": where programs outside bring their " + what +
                 " by TCP, as 127.0.0.1:9100; port 0: any")
        .each([](const std::string& text) -> Result<> { return text.empty() ? Result<>{} : check_address(text); });
    settings.add(section, "tls_certificate", tls_certificate_,
                 "PEM file; who brings " + what + " must use TLS and show a certificate of tls_ca");
    settings.add(section, "tls_key", tls_key_, "PEM file: the key of tls_certificate");
    settings.add(section, "tls_ca", tls_ca_, "PEM file: the authority that signs the certificates of who brings them");
    settings.add(section, "plain", plain_, "true: plain TCP or UDP also on addresses that other machines reach");
}

Result<std::optional<InputPort>> InputSettings::port() const {
    if (input_.empty()) return std::nullopt;
    InputPort port{.listen = WEIR_TRY(transport::parse_host_port(input_)), .tls = tls()};
    if (!port.tls.any() && !plain_)
        WEIR_TRY(check_plain(port.listen, "tls_certificate, tls_key and tls_ca, or plain = true"));
    return port;
}

Result<bool> on_this_machine(const std::string& listen) {
    const auto parsed = WEIR_TRY(transport::parse_host_port(listen));
    const auto addresses = WEIR_TRY(transport::resolve(parsed, true));
    return std::ranges::all_of(addresses, &transport::Address::loopback);
}

Result<> check_plain(const transport::HostPort& listen, const char* how) {
    const auto addresses = WEIR_TRY(transport::resolve(listen, true));
    if (std::ranges::all_of(addresses, &transport::Address::loopback)) return {};
    return fail(
        Errc::usage,
        fmt::format("{} is reached by other machines, and without TLS any of them can read and forge events; give "
                    "{} on a network that you trust",
                    transport::to_string(listen), how));
}

}  // namespace weir::app
