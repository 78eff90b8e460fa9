// SPDX-License-Identifier: Apache-2.0
// Answers HTTP on one thread of its own: /metrics, and whatever else its owner has an answer for. Clients are
// not trusted: connections, request sizes and times are limited, so that no client can hold the thread or fill the
// memory; and what changes something (POST) is not taken from web pages of others, which any browser on this machine
// may have open.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/service/control_access.hpp"
#include "weir/service/metrics.hpp"

namespace weir::service {

struct HttpRefusal {
    std::string address;  // of who asked, without its port
    std::string who;      // the first name of its certificate; empty: it showed none that is good
    std::string why;
};

struct HttpServerOptions {
    std::string listen = "127.0.0.1:0";     // address:port; port 0: the system chooses; "[::1]:9100" for IPv6
    std::optional<ControlAccess> access{};  // mutual TLS; none: plain, and only on addresses of this machine,
    bool plain = false;                     // unless that is wanted: any machine that reaches it may ask
    bool anyone = false;  // with access: the server shows its certificate and asks for none; whoever reaches it may ask
    /// Whoever has it may look (GET), whoever has not may nothing: GET /?token=... gives it to a browser as a cookie;
    /// programs show it as "Authorization: Bearer ...". Empty: none is asked for. 16 to 128 letters and digits.
    std::string token{};
    /// Called for who was not let in, or may not do what it asked. On the server's thread; must not wait.
    std::function<void(const HttpRefusal&)> refused{};
    std::uint32_t connections_max = 32;  // one more takes the place of the one that has waited longest for a request
    std::uint32_t connections_per_peer_max = 16;  // of one address, in the same way; each at least 1
    std::uint32_t header_size_max = 8192;
    Bytes body_size_max{8U << 20};
    std::uint32_t requests_max = 1000;                     // over one connection
    std::chrono::milliseconds deadline{5000};              // for a request to arrive, and for an answer to be sent
    std::chrono::milliseconds answer_deadline{3'700'000};  // for an answer to be found (a transition may take long)
};

struct HttpRequest {
    std::string path;   // without what follows '?'
    std::string query;  // what follows it
    std::string body;
    std::string person{};  // who asks, as the certificate says; empty: without TLS, or with the partition's own key
    std::optional<Role> role{};  // of the certificate
    std::string key{};           // of it: transport::PublicKey::bytes()
    std::string address{};       // where it comes from, without a port
    bool of_page = false;        // a browser sends it for a page of this server (Origin)
    bool takes_gzip = false;     // Accept-Encoding
    std::string if_none_match{};
};

struct HttpResponse {
    unsigned status = 200;
    std::string body{};
    std::string content_type = "application/json";
    std::chrono::milliseconds after{0};  // how much later it is sent, so that asking again and again takes long
    std::vector<std::pair<std::string, std::string>> headers{};  // further ones: names and values of our own
};

/// {"error":"..."} on one line.
[[nodiscard]] HttpResponse http_error(unsigned status, std::string_view text);

/// To be called once, from any thread, now or later; also when the server is gone.
using HttpAnswer = std::function<void(HttpResponse)>;

struct HttpRoute {
    enum class Method { get, post } method = Method::get;        // get answers HEAD too
    std::string path;                                            // "/status"; "/stations/*": everything below it
    std::function<void(const HttpRequest&, HttpAnswer)> handle;  // on the server's thread; must not wait
    bool for_stations = false;  // of a post: it concerns only who asks, and the role station is enough
};

/// GET /metrics. The metrics outlive the server.
[[nodiscard]] HttpRoute metrics_route(const Metrics& metrics);

/// For HttpServerOptions::refused: warnings of the control port of the station `where`.
[[nodiscard]] std::function<void(const HttpRefusal&)> report_refusals(Reporter report, std::string where);

class HttpServer {
public:
    /// Errc::usage: not an address, or one that other machines reach without TLS, or certificates that do not fit;
    /// Errc::io: it cannot be listened to.
    [[nodiscard]] static Result<HttpServer> start(const HttpServerOptions& options, std::vector<HttpRoute> routes);

    HttpServer(HttpServer&&) noexcept;
    HttpServer& operator=(HttpServer&&) noexcept;
    ~HttpServer();  // closes every connection, then waits for the thread

    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Where this machine reaches it, "127.0.0.1:41234", also when it listens at every address.
    [[nodiscard]] std::string address() const;

private:
    class Server;
    explicit HttpServer(std::unique_ptr<Server> server);
    std::unique_ptr<Server> server_;
};

}  // namespace weir::service
