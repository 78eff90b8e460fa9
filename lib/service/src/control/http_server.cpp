// SPDX-License-Identifier: Apache-2.0
#include "weir/service/http_server.hpp"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <list>
#include <optional>
#include <utility>

#include "control/endpoint.hpp"
#include "control/http_session.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {

HttpResponse http_error(unsigned status, std::string_view text) {
    const boost::json::value document{{"error", json::safe(text)}};
    return {.status = status, .body = boost::json::serialize(document) + "\n"};
}

HttpRoute metrics_route(const Metrics& metrics) {
    return {
        .method = HttpRoute::Method::get,
        .path = "/metrics",
        .handle = [&metrics](const HttpRequest&, const HttpAnswer& answer) {
            answer({.status = 200, .body = metrics.text(), .content_type = "text/plain; version=0.0.4; charset=utf-8"});
        }};
}

std::function<void(const HttpRefusal&)> report_refusals(Reporter report, std::string where) {
    return [report = std::move(report), where = std::move(where)](const HttpRefusal& refusal) {
        report({.severity = Severity::warning,
                .what = fmt::format("{} was refused at the control port", refusal.address),
                .where = where,
                .why = refusal.why,
                .advice = {},
                .key = "refused at the control port: " + refusal.who});
    };
}

namespace {

bool is_of_token(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

class HttpServer::Server {
public:
    Server(const HttpServerOptions& options, std::vector<HttpRoute> routes)
        : shared_{.options = options, .routes = std::move(routes)} {
        shared_.gate->io = &io_;
    }

    ~Server() {
        {
            const std::scoped_lock lock(shared_.gate->mutex);
            shared_.gate->io = nullptr;
        }
        io_.stop();  // thread-safe; then the thread is joined, and the sessions end with io_
    }

    Result<> listen() {
        const auto endpoint = WEIR_TRY(parse_endpoint(shared_.options.listen));
        const auto& token = shared_.options.token;
        if (!token.empty() && (token.size() < 16 || token.size() > 128 || !std::ranges::all_of(token, is_of_token)))
            return fail(Errc::usage, "a token has 16 to 128 letters and digits");
        if (shared_.options.access) {
            const auto& files = shared_.options.access->tls;
            const bool anyone = shared_.options.anyone;
            auto tls =
                WEIR_TRY(anyone ? transport::TlsContext::for_anyone(files) : transport::TlsContext::for_server(files));
            if (!anyone) tls.trust_own_key();
            SSL_CTX_up_ref(tls.native());
            tls_.emplace(tls.native());  // and takes it
        } else if (!endpoint.address().is_loopback() && !shared_.options.plain) {
            return fail(Errc::usage,
                        fmt::format("{} is reached by other machines, and a control port there needs TLS; give "
                                    "certificates ([security] of a partition, --tls-certificate of weir record), or an "
                                    "address of this machine, as 127.0.0.1:0; --plain of weir record and weir handoff "
                                    "shows metrics to all",
                                    shared_.options.listen));
        }
        beast::error_code ec;
        acceptor_.open(endpoint.protocol(), ec);
        if (!ec) acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
        if (!ec) acceptor_.bind(endpoint, ec);
        if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
        if (!ec) port_ = shared_.port = acceptor_.local_endpoint(ec).port();
        const auto host = !endpoint.address().is_unspecified() ? endpoint.address()
                          : endpoint.address().is_v6()         ? asio::ip::address(asio::ip::address_v6::loopback())
                                                               : asio::ip::address(asio::ip::address_v4::loopback());
        address_ = (host.is_v6() ? "[" + host.to_string() + "]" : host.to_string()) + ":" + std::to_string(port_);
        if (ec)
            return fail_errno(ec.value(), fmt::format("cannot serve HTTP on {}; choose another address or port",
                                                      shared_.options.listen));
        accept();
        thread_ = NamedThread("http", [this] {
            // A handler runs inside of this wait too; it is short, and the processor time of the thread shows it.
            while (!io_.stopped()) {
                const ScopedWait wait(WaitCause::network);
                io_.run_one();
            }
        });
        return {};
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] const std::string& address() const noexcept { return address_; }

private:
    void accept() {
        acceptor_.async_accept([this](const beast::error_code& ec, Tcp::socket socket) {
            if (ec) {  // out of descriptors, most likely: wait, the sessions that there are may end
                pause_.expires_after(std::chrono::milliseconds{100});
                pause_.async_wait([this](const beast::error_code& stopped) {
                    if (!stopped) accept();
                });
                return;
            }
            beast::error_code gone;
            const auto peer = socket.remote_endpoint(gone);
            if (!gone && make_room(peer.address())) serve(std::move(socket), peer.address());
            accept();
        });
    }

    void serve(Tcp::socket socket, const asio::ip::address& peer) {
        if (tls_) return serve(TlsStream(std::move(socket), *tls_), peer);
        serve(beast::tcp_stream(std::move(socket)), peer);
    }
    template <class Stream>
    void serve(Stream stream, const asio::ip::address& peer) {
        std::make_shared<Session<Stream>>(std::move(stream), peer, shared_)->begin();
    }

    /// There is room for one more of this address, or was made: clients that send half a request keep no other out,
    /// because a whole one comes and is answered sooner. False: all are being answered.
    bool make_room(const asio::ip::address& peer) {
        auto& sessions = shared_.sessions;
        const auto of_peer =
            std::ranges::count_if(sessions, [&](const HttpConnection* session) { return session->peer() == peer; });
        const bool peer_is_full = of_peer >= static_cast<std::ptrdiff_t>(shared_.options.connections_per_peer_max);
        if (!peer_is_full && sessions.size() < shared_.options.connections_max) return true;
        const auto longest = [&](bool known, bool asked) {
            return std::ranges::find_if(sessions, [&](const HttpConnection* session) {
                return session->waits() && session->is_known() == known && session->has_asked() == asked &&
                       (!peer_is_full || session->peer() == peer);
            });
        };
        auto at = longest(!tls_, false);  // over TLS nobody is known yet who comes, and takes no place of who is
        if (at == sessions.end() && !tls_)
            at = longest(true, true);  // those that asked before stay longer: run control, scrapers
        if (at == sessions.end()) return false;
        (*at)->make_room();
        return true;
    }

    Shared shared_;  // the sessions end, with io_, before it
    std::uint16_t port_ = 0;
    std::string address_;
    std::optional<asio::ssl::context> tls_;
    asio::io_context io_{1};
    Tcp::acceptor acceptor_{io_};
    asio::steady_timer pause_{io_};
    NamedThread thread_;  // the last member: it ends before what it uses is gone
};

HttpServer::HttpServer(std::unique_ptr<Server> server) : server_(std::move(server)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const noexcept { return server_->port(); }
std::string HttpServer::address() const { return server_->address(); }

Result<HttpServer> HttpServer::start(const HttpServerOptions& options, std::vector<HttpRoute> routes) {
    try {  // the constructors of Asio throw when the system gives out no descriptors or threads
        auto server = std::make_unique<Server>(options, std::move(routes));
        WEIR_TRY(server->listen());
        return HttpServer(std::move(server));
    } catch (const std::system_error& error) {
        return fail_errno(error.code().value(), fmt::format("cannot serve HTTP on {}", options.listen));
    }
}

}  // namespace weir::service
