// SPDX-License-Identifier: Apache-2.0
// Posts a JSON document to a server that is not of weir: a chat, a logbook, any web service. One connection a document;
// nothing is followed elsewhere (redirections, proxies).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/transport/tls.hpp"

namespace weir::service {

/// "https://chat.example.org/hooks/7x2", "http://127.0.0.1:9095/".
struct WebAddress {
    bool tls = false;
    std::string host{};  // a name or an address, without brackets
    std::uint16_t port = 0;
    std::string target{};  // "/hooks/7x2"

    /// Scheme, host and port: the rest may be a secret.
    [[nodiscard]] std::string shown() const;
};
/// Errc::usage: what is wrong with it, without the text itself, which may be a secret.
[[nodiscard]] Result<WebAddress> parse_web_address(std::string_view url);

struct HttpHeader {
    std::string name{}, value{};
};
/// One header a line, "Authorization: Bearer ..."; empty lines and those that begin with # do not count. Errc::usage:
/// "line 2 is no header ...", without its text.
[[nodiscard]] Result<std::vector<HttpHeader>> parse_http_headers(std::string_view text);

/// One thread.
class WebClient {
public:
    /// `authorities` as in TlsContext::for_web(). `clock` outlives it.
    [[nodiscard]] static Result<WebClient> open(WebAddress to, std::vector<HttpHeader> headers,
                                                const std::filesystem::path& authorities, const Clock& clock);

    /// The status of the answer, whatever becomes of its body. Error: no answer (io), not in time (limit), `given_up`,
    /// which is asked ten times a second, was true (refused).
    [[nodiscard]] Result<unsigned> post(const std::string& json, std::chrono::milliseconds deadline,
                                        const std::function<bool()>& given_up) const;

private:
    WebClient(WebAddress to, std::vector<HttpHeader> headers, std::optional<transport::TlsContext> tls,
              const Clock& clock)
        : to_(std::move(to)), headers_(std::move(headers)), tls_(std::move(tls)), clock_(&clock) {}

    WebAddress to_;
    std::vector<HttpHeader> headers_;
    std::optional<transport::TlsContext> tls_;
    const Clock* clock_;
};

}  // namespace weir::service
