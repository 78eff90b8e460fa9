// SPDX-License-Identifier: Apache-2.0
#include "weir/service/http_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "control/endpoint.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

constexpr std::size_t drain_max = 64U << 20;  // bytes of a request that was refused, read and thrown away

/// What an answer from another thread goes through: the server may be gone by then.
struct Gate {
    std::mutex mutex;
    asio::io_context* io = nullptr;  // nullptr: closed
};

class Session;

struct Shared {  // what the server shares with its connections; touched by its thread only, but for the gate
    HttpServerOptions options;
    std::vector<HttpRoute> routes;
    std::list<Session*> sessions{};  // those that wait for their peers in the order since when
    std::shared_ptr<Gate> gate = std::make_shared<Gate>();
};

/// One connection: reads a request, answers, and again, until one side ends it.
class Session : public std::enable_shared_from_this<Session> {  // shared by its pending operations
public:
    Session(Tcp::socket socket, asio::ip::address peer, Shared& shared)
        : stream_(std::move(socket)),
          timer_(stream_.get_executor()),
          buffer_(shared.options.header_size_max),
          peer_(std::move(peer)),
          shared_(shared),
          listed_(shared.sessions.insert(shared.sessions.end(), this)) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() {
        if (listed_) shared_.sessions.erase(*listed_);
    }

    [[nodiscard]] const asio::ip::address& peer() const noexcept { return peer_; }
    /// It waits for its peer: for a request to come, or an answer to be taken.
    [[nodiscard]] bool waits() const noexcept { return waits_; }
    /// It has asked something before.
    [[nodiscard]] bool has_asked() const noexcept { return served_total_ > 0; }
    /// Ends at once, for another connection that comes.
    void make_room() {
        shared_.sessions.erase(*std::exchange(listed_, std::nullopt));
        beast::error_code ignored;  // closed in any case
        stream_.socket().close(ignored);
    }

    void read() {
        wait_for_peer();
        parser_.emplace();
        parser_->header_limit(shared_.options.header_size_max);
        parser_->body_limit(shared_.options.body_size_max.count());
        stream_.expires_never();
        // A timer of our own: the stream's would close the connection, and a slow client should get the reason.
        timer_.expires_after(shared_.options.deadline);
        timer_.async_wait([self = shared_from_this()](const beast::error_code& stopped) {
            if (stopped) return;
            self->too_slow_ = true;
            self->stream_.cancel();
        });
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](const beast::error_code& ec, std::size_t) {
                             self->timer_.cancel();
                             self->take(ec);
                         });
    }

private:
    void wait_for_peer() {
        waits_ = true;
        if (listed_) shared_.sessions.splice(shared_.sessions.end(), shared_.sessions, *listed_);
    }

    void take(const beast::error_code& ec) {
        waits_ = false;
        if (!listed_) return;  // it has made room
        head_ = false;
        keep_ = false;
        if (too_slow_ && ec)
            return parser_->got_some() ? respond(http_error(408, "the request did not arrive in time")) : void();
        if (ec == http::error::body_limit)
            return respond(
                http_error(413, fmt::format("a body of more than {}", to_string(shared_.options.body_size_max))));
        if (ec == http::error::header_limit || ec == http::error::buffer_overflow)
            return respond(
                http_error(431, fmt::format("headers of more than {} bytes", shared_.options.header_size_max)));
        const bool malformed = ec && ec.category() == http::make_error_code(http::error::bad_method).category() &&
                               ec != http::error::end_of_stream && ec != http::error::partial_message;
        if (malformed) return respond(http_error(400, "not a request that this server understands"));
        if (ec) return;  // gone, or we are stopping
        const auto& request = parser_->get();
        keep_ = request.keep_alive() && ++served_ < shared_.options.requests_max;
        head_ = request.method() == http::verb::head;
        const auto target = request.target();
        const auto mark = target.find('?');
        find_answer({.path = std::string(target.substr(0, mark)),
                     .query = mark == target.npos ? std::string() : std::string(target.substr(mark + 1)),
                     .body = std::move(parser_->get().body())});
    }

    void find_answer(const HttpRequest& request) {
        const auto verb = parser_->get().method();
        std::string allowed, paths;
        for (const auto& route : shared_.routes) {
            if (route.path != request.path) {
                if (paths.find(route.path) == paths.npos) paths.append(paths.empty() ? "" : ", ").append(route.path);
                continue;
            }
            const bool post = route.method == HttpRoute::Method::post;
            if (post ? verb == http::verb::post : verb == http::verb::get || verb == http::verb::head) {
                if (post) {
                    if (const auto why = not_from_a_program()) return respond(http_error(why->first, why->second));
                }
                return route.handle(request, answer_later());
            }
            allowed.append(allowed.empty() ? "" : ", ").append(post ? "POST" : "GET, HEAD");
        }
        if (allowed.empty()) return respond(http_error(404, fmt::format("there is nothing here; there is {}", paths)));
        allow_ = allowed;
        respond(http_error(405, fmt::format("only {}", allowed)));
    }

    /// A web page can make a browser send such requests here, but not with this content type, and not without an
    /// origin.
    std::optional<std::pair<unsigned, std::string_view>> not_from_a_program() const {
        const auto& request = parser_->get();
        if (request.find(http::field::origin) != request.end())
            return std::pair(403U, "requests of web pages are not taken");
        const auto type = request[http::field::content_type];
        if (!type.starts_with("application/json"))
            return std::pair(415U, "the body must be JSON, with Content-Type: application/json");
        return std::nullopt;
    }

    HttpAnswer answer_later() {
        timer_.expires_after(shared_.options.answer_deadline);  // keeps this session until the answer is there
        timer_.async_wait([self = shared_from_this()](const beast::error_code& stopped) {
            if (!stopped)
                self->answer(HttpResponse(http_error(504, "no answer was found in time")), self->served_total_);
        });
        return [weak = weak_from_this(), gate = shared_.gate, which = served_total_](HttpResponse response) {
            const std::scoped_lock lock(gate->mutex);
            if (gate->io == nullptr) return;
            asio::post(*gate->io, [weak, which, response = std::move(response)]() mutable {
                if (const auto self = weak.lock()) self->answer(std::move(response), which);
            });
        };
    }

    /// The first answer to a request counts.
    void answer(HttpResponse response, std::uint64_t which) {
        if (which != served_total_) return;
        timer_.cancel();
        respond(std::move(response));
    }

    void respond(HttpResponse answer) {
        ++served_total_;
        wait_for_peer();
        response_ = {};
        response_.version(11);
        response_.result(answer.status);
        response_.set(http::field::content_type, answer.content_type);
        if (!allow_.empty()) response_.set(http::field::allow, std::exchange(allow_, {}));
        response_.body() = std::move(answer.body);
        response_.keep_alive(keep_);
        response_.prepare_payload();
        if (head_) {
            const auto size = response_.body().size();
            response_.body().clear();
            response_.content_length(size);  // what GET would have sent
        }
        stream_.expires_after(shared_.options.deadline);
        http::async_write(stream_, response_,
                          [self = shared_from_this()](const beast::error_code& failed, std::size_t) {
                              if (failed) return;
                              if (self->keep_) return self->read();
                              beast::error_code ignored;  // the peer may be gone already
                              self->stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
                              if (!self->parser_->is_done()) self->drain();
                          });
    }

    /// A connection that is closed with bytes unread is reset, and the peer may lose the answer with the reason.
    void drain() {
        stream_.socket().async_read_some(asio::buffer(waste_),
                                         [self = shared_from_this()](const beast::error_code& ec, std::size_t size) {
                                             self->drained_ += size;
                                             if (!ec && self->drained_ < drain_max) return self->drain();
                                             self->timer_.cancel();
                                         });
        if (std::exchange(draining_, true)) return;
        timer_.expires_after(shared_.options.deadline);
        timer_.async_wait([self = shared_from_this()](const beast::error_code& stopped) {
            beast::error_code ignored;
            if (!stopped) self->stream_.socket().close(ignored);
        });
    }

    beast::tcp_stream stream_;
    asio::steady_timer timer_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::string_body> response_;
    const asio::ip::address peer_;
    Shared& shared_;
    std::optional<std::list<Session*>::iterator> listed_;  // nothing: it has made room
    bool waits_ = false;
    std::string allow_;
    std::uint32_t served_ = 0;
    std::uint64_t served_total_ = 0;
    std::array<char, 16'384> waste_;
    std::size_t drained_ = 0;
    bool too_slow_ = false, head_ = false, keep_ = false, draining_ = false;
};

}  // namespace

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
        beast::error_code ec;
        acceptor_.open(endpoint.protocol(), ec);
        if (!ec) acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
        if (!ec) acceptor_.bind(endpoint, ec);
        if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
        if (!ec) port_ = acceptor_.local_endpoint(ec).port();
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
    [[nodiscard]] std::string address() const {
        return shared_.options.listen.substr(0, shared_.options.listen.rfind(':') + 1) + std::to_string(port_);
    }

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
            if (!gone && make_room(peer.address()))
                std::make_shared<Session>(std::move(socket), peer.address(), shared_)->read();
            accept();
        });
    }

    /// There is room for one more of this address, or was made: clients that send half a request keep no other out,
    /// because a whole one comes and is answered sooner. False: all are being answered.
    bool make_room(const asio::ip::address& peer) {
        auto& sessions = shared_.sessions;
        const auto of_peer =
            std::ranges::count_if(sessions, [&](const Session* session) { return session->peer() == peer; });
        const bool peer_is_full = of_peer >= static_cast<std::ptrdiff_t>(shared_.options.connections_per_peer_max);
        if (!peer_is_full && sessions.size() < shared_.options.connections_max) return true;
        const auto longest = [&](bool asked) {
            return std::ranges::find_if(sessions, [&](const Session* session) {
                return session->waits() && session->has_asked() == asked && (!peer_is_full || session->peer() == peer);
            });
        };
        auto at = longest(false);
        if (at == sessions.end()) at = longest(true);  // those that asked before stay longer: run control, scrapers
        if (at == sessions.end()) return false;
        (*at)->make_room();
        return true;
    }

    Shared shared_;  // the sessions end, with io_, before it
    std::uint16_t port_ = 0;
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
