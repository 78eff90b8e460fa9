// SPDX-License-Identifier: Apache-2.0
#include "weir/service/web_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "control/control_connection.hpp"
#include "web/name_lookup.hpp"
#include "weir/base/thread_account.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;

constexpr Bytes web_answer_max{64U << 10};  // of the body, which nobody reads
constexpr std::size_t web_address_size_max = 2000;
constexpr std::size_t web_addresses_max = 4;  // of one host, that are tried one after the other
constexpr std::size_t http_headers_max = 32;
constexpr auto web_look = 100ms;

bool visible(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; });
}

/// A token of HTTP (RFC 9110).
bool header_name(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("!#$%&'*+-.^_`|~").contains(c);
    });
}

std::string_view without_spaces(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

}  // namespace

std::string WebAddress::shown() const {
    return fmt::format("{}://{}", tls ? "https" : "http", transport::to_string(transport::HostPort{host, port}));
}

Result<WebAddress> parse_web_address(std::string_view url) {
    WebAddress address;
    const auto bad = [](std::string_view why) {
        return fail(Errc::usage,
                    fmt::format("is no address of the web: {}; write https://host/path or http://host:port/path", why));
    };
    if (url.size() > web_address_size_max || !visible(url)) return bad("it is too long, or has spaces in it");
    constexpr std::string_view plain = "http://", secure = "https://";
    if (url.starts_with(secure)) address.tls = true;
    else if (!url.starts_with(plain)) return bad("it begins with neither https:// nor http://");
    url.remove_prefix(address.tls ? secure.size() : plain.size());
    const auto end = std::min(url.find_first_of("/?#"), url.size());
    const auto place = url.substr(0, end);
    auto target = url.substr(end);
    target = target.substr(0, target.find('#'));
    if (place.contains('@')) return bad("a name and password do not belong there; give them in headers_file");
    auto host_port = std::string(place);
    if (!(place.starts_with('[') ? place.contains("]:") : place.contains(':')))
        host_port += address.tls ? ":443" : ":80";
    const auto parsed = transport::parse_host_port(host_port);
    if (!parsed || parsed->host.empty() || parsed->port == 0) return bad("its host and port cannot be read");
    address.host = parsed->host;
    address.port = parsed->port;
    address.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
    return address;
}

Result<std::vector<HttpHeader>> parse_http_headers(std::string_view text) {
    std::vector<HttpHeader> headers;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = without_spaces(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.starts_with('#')) continue;
        const auto colon = line.find(':');
        HttpHeader header;
        if (colon != line.npos)
            header = {std::string(line.substr(0, colon)), std::string(without_spaces(line.substr(colon + 1)))};
        const bool plain = std::ranges::none_of(
            header.value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
        if (!header_name(header.name) || header.value.empty() || !plain)
            return fail(Errc::usage, fmt::format("line {} is no header; write \"Authorization: Bearer ...\"", number));
        if (headers.size() == http_headers_max)
            return fail(Errc::usage, fmt::format("has more than {} headers", http_headers_max));
        headers.push_back(std::move(header));
    }
    return headers;
}

Result<WebClient> WebClient::open(WebAddress to, std::vector<HttpHeader> headers,
                                  const std::filesystem::path& authorities, const Clock& clock) {
    std::optional<transport::TlsContext> tls;
    if (to.tls) tls = WEIR_TRY(transport::TlsContext::for_web(authorities));
    return WebClient(std::move(to), std::move(headers), std::move(tls), clock);
}

Result<unsigned> WebClient::post(const std::string& json, std::chrono::milliseconds deadline,
                                 const std::function<bool()>& given_up) const {
    const auto until = clock_->now() + deadline;
    const auto left = [&] {
        return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(until - clock_->now()), 1ms);
    };
    const auto addresses = WEIR_TRY(look_up(to_.host, to_.port, deadline, given_up));
    const bool usual_port = to_.port == (to_.tls ? 443 : 80);
    auto host = transport::to_string(transport::HostPort{to_.host, to_.port});
    if (usual_port) host.resize(host.rfind(':'));
    std::optional<ControlTls> tls;
    if (tls_) tls.emplace(ControlTls{.context = *tls_, .own = false, .believe = {}});
    Error failed{Errc::io, 0, {}};
    const auto tried = std::min(addresses.size(), web_addresses_max);
    for (std::size_t i = 0; i < tried; ++i) {
        asio::ip::tcp::endpoint endpoint;
        endpoint.resize(addresses[i].size());
        std::copy_n(reinterpret_cast<const std::byte*>(addresses[i].data()), addresses[i].size(),
                    reinterpret_cast<std::byte*>(endpoint.data()));
        const ControlPlace place{endpoint, host, {}, to_.host};
        auto question = http_question(place, true, to_.target, json, false);
        question.set(http::field::user_agent, "weir");
        for (const auto& header : headers_) question.set(header.name, header.value);
        const auto share = left() / static_cast<int>(tried - i);
        try {
            asio::io_context io{1};
            const auto connection = WEIR_TRY(control_connection(io, place, tls, web_answer_max));
            std::optional<Exchanged> ended;
            connection->ask(std::move(question), share, [&](Exchanged exchanged) { ended = std::move(exchanged); });
            while (!ended) {
                const ScopedWait wait(WaitCause::peer);
                io.run_one_for(web_look);
                if (!ended && given_up()) return fail(Errc::refused, "given up");
            }
            if (ended->answer.status != 0) return ended->answer.status;
            const bool late = ended->failed == beast::error::timeout;
            failed = {late ? Errc::limit : Errc::io, 0,
                      late ? fmt::format("{} did not answer within {}", to_.shown(), to_string(deadline))
                           : fmt::format("{} cannot be reached: {}", to_.shown(), ended->why)};
        } catch (const std::system_error& error) {  // Asio's constructors, when there are no descriptors
            return fail_errno(error.code().value(), fmt::format("cannot ask {}", to_.shown()));
        }
        if (clock_->now() >= until) break;
    }
    return std::unexpected(std::move(failed));
}

}  // namespace weir::service
