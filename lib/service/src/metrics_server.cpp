// SPDX-License-Identifier: Apache-2.0
#include "weir/service/metrics_server.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <optional>
#include <thread>

namespace weir {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
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
    return fail(Errc::usage, fmt::format("\"{}\" is not an address to listen on; write address:port, for example "
                                         "127.0.0.1:9100 or [::1]:9100", text.substr(0, 100)));
}

/// One connection: reads a request, answers, and again, until somebody has had enough.
class Session : public std::enable_shared_from_this<Session> {  // shared by its pending operations
public:
    Session(Tcp::socket socket, const Metrics& metrics, const MetricsServerOptions& options, std::uint32_t& count)
        : stream_(std::move(socket)), buffer_(options.request_size_max), metrics_(metrics), options_(options), count_(count) {
        ++count_;
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() { --count_; }

    void read() {
        parser_.emplace();
        parser_->header_limit(options_.request_size_max);
        parser_->body_limit(std::uint64_t{0});
        stream_.expires_after(options_.deadline);
        http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](const beast::error_code& ec, std::size_t) {
            self->answer(ec);
        });
    }

private:
    void answer(const beast::error_code& ec) {
        const bool malformed = ec && ec.category() == http::make_error_code(http::error::bad_method).category() &&
                               ec != http::error::end_of_stream && ec != http::error::partial_message;
        if (ec && !malformed) return;  // gone, too slow, or we are stopping
        response_ = {};
        response_.version(11);
        response_.set(http::field::content_type, "text/plain; charset=utf-8");
        bool body_wanted = true;
        bool keep = false;
        if (malformed) {
            respond(http::status::bad_request, "not a request that this server understands\n");
        } else {
            const auto& request = parser_->get();
            body_wanted = request.method() != http::verb::head;
            keep = request.keep_alive() && ++served_ < options_.requests_max;
            const auto path = request.target().substr(0, request.target().find('?'));
            if (request.method() != http::verb::get && request.method() != http::verb::head) {
                response_.set(http::field::allow, "GET, HEAD");
                respond(http::status::method_not_allowed, "only GET and HEAD\n");
            } else if (path != "/metrics") {
                respond(http::status::not_found, "the metrics are at /metrics\n");
            } else {
                response_.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
                respond(http::status::ok, metrics_.text());
            }
        }
        response_.keep_alive(keep);
        response_.prepare_payload();
        if (!body_wanted) {
            const auto size = response_.body().size();
            response_.body().clear();
            response_.content_length(size);  // what GET would have sent
        }
        stream_.expires_after(options_.deadline);
        http::async_write(stream_, response_, [self = shared_from_this(), keep](const beast::error_code& failed, std::size_t) {
            if (failed) return;
            if (keep) return self->read();
            beast::error_code ignored;  // the peer may be gone already
            self->stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
        });
    }

    void respond(http::status status, std::string body) {
        response_.result(status);
        response_.body() = std::move(body);
    }

    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::empty_body>> parser_;
    http::response<http::string_body> response_;
    std::uint32_t served_ = 0;
    const Metrics& metrics_;
    const MetricsServerOptions& options_;
    std::uint32_t& count_;
};

}  // namespace

class MetricsServer::Server {
public:
    Server(const Metrics& metrics, const MetricsServerOptions& options) : metrics_(metrics), options_(options) {}

    ~Server() { io_.stop(); }  // thread-safe; then the thread is joined, and the sessions end with io_

    Result<> listen() {
        const auto endpoint = parse_endpoint(options_.listen);
        if (!endpoint) return std::unexpected(endpoint.error());
        beast::error_code ec;
        acceptor_.open(endpoint->protocol(), ec);
        if (!ec) acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
        if (!ec) acceptor_.bind(*endpoint, ec);
        if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
        if (!ec) port_ = acceptor_.local_endpoint(ec).port();
        if (ec) return fail_errno(ec.value(), fmt::format("cannot serve metrics on {}; choose another address or port", options_.listen));
        accept();
        thread_ = std::jthread([this] { io_.run(); });
        return {};
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

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
            if (count_ < options_.connections_max)
                std::make_shared<Session>(std::move(socket), metrics_, options_, count_)->read();
            accept();
        });
    }

    const Metrics& metrics_;
    const MetricsServerOptions options_;
    std::uint32_t count_ = 0;  // of sessions; touched by the thread, and by the destructor after it
    std::uint16_t port_ = 0;
    asio::io_context io_{1};
    Tcp::acceptor acceptor_{io_};
    asio::steady_timer pause_{io_};
    std::jthread thread_;  // the last member: it ends before what it uses is gone
};

MetricsServer::MetricsServer(std::unique_ptr<Server> server) : server_(std::move(server)) {}
MetricsServer::MetricsServer(MetricsServer&&) noexcept = default;
MetricsServer& MetricsServer::operator=(MetricsServer&&) noexcept = default;
MetricsServer::~MetricsServer() = default;

std::uint16_t MetricsServer::port() const noexcept { return server_->port(); }

Result<MetricsServer> MetricsServer::start(const Metrics& metrics, const MetricsServerOptions& options) {
    try {  // the constructors of Asio throw when the system gives out no descriptors or threads
        auto server = std::make_unique<Server>(metrics, options);
        if (auto listening = server->listen(); !listening) return std::unexpected(std::move(listening.error()));
        return MetricsServer(std::move(server));
    } catch (const std::system_error& error) {
        return fail_errno(error.code().value(), fmt::format("cannot serve metrics on {}", options.listen));
    }
}

}  // namespace weir
