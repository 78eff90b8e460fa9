// SPDX-License-Identifier: Apache-2.0
// One connection of the HTTP server: reads a request, answers, and again, until one side ends it. Over TCP, or over TLS
// on it, where the certificate of who asks decides what is answered.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "control/own_origin.hpp"
#include "control/view_token.hpp"
#include "weir/service/http_server.hpp"
#include "weir/transport/certificate.hpp"

namespace weir::service {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

inline constexpr std::size_t unknown_drain_max = 64U << 10;  // the same, of who is not known
inline constexpr std::size_t drain_max = 64U << 20;         // bytes of a request that was refused, read and thrown away
inline constexpr std::size_t station_body_max = 64U << 10;  // of what a station may ask for itself

/// What an answer from another thread goes through: the server may be gone by then.
struct Gate {
    std::mutex mutex;
    asio::io_context* io = nullptr;  // nullptr: closed
};

/// A connection as the server sees it.
class HttpConnection {
public:
    virtual ~HttpConnection() = default;
    [[nodiscard]] virtual const asio::ip::address& peer() const noexcept = 0;
    /// It waits for its peer: for a request to come, or an answer to be taken.
    [[nodiscard]] virtual bool waits() const noexcept = 0;
    /// It has asked something before.
    [[nodiscard]] virtual bool has_asked() const noexcept = 0;
    /// It may ask: over TLS, after the handshake.
    [[nodiscard]] virtual bool is_known() const noexcept = 0;
    /// Ends at once, for another connection that comes.
    virtual void make_room() = 0;
};

struct Shared {  // what the server shares with its connections; touched by its thread only, but for the gate
    HttpServerOptions options;
    std::vector<HttpRoute> routes;
    std::uint16_t port = 0;
    std::list<HttpConnection*> sessions{};  // those that wait for their peers in the order since when
    std::shared_ptr<Gate> gate = std::make_shared<Gate>();
};

/// `Stream`: beast::tcp_stream or TlsStream. Shared by its pending operations.
template <class Stream>
class Session final : public HttpConnection, public std::enable_shared_from_this<Session<Stream>> {
public:
    Session(Stream stream, asio::ip::address peer, Shared& shared)
        : stream_(std::move(stream)),
          timer_(stream_.get_executor()),
          buffer_(shared.options.header_size_max),
          peer_(std::move(peer)),
          shared_(shared),
          listed_(shared.sessions.insert(shared.sessions.end(), this)) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() override {
        if (listed_) shared_.sessions.erase(*listed_);
    }

    [[nodiscard]] const asio::ip::address& peer() const noexcept override { return peer_; }
    [[nodiscard]] bool waits() const noexcept override { return waits_; }
    [[nodiscard]] bool has_asked() const noexcept override { return served_total_ > 0; }
    [[nodiscard]] bool is_known() const noexcept override { return known_; }
    void make_room() override {
        shared_.sessions.erase(*std::exchange(listed_, std::nullopt));
        beast::error_code ignored;  // closed in any case
        tcp().socket().close(ignored);
    }

    void begin() {
        if constexpr (!secure) {
            known_ = true;
            read();
        } else {
            wait_for_peer();
            tcp().expires_after(shared_.options.deadline);
            stream_.async_handshake(
                TlsStream::server, [self = this->shared_from_this()](const beast::error_code& ec) { self->greet(ec); });
        }
    }

private:
    static constexpr bool secure = std::is_same_v<Stream, TlsStream>;

    [[nodiscard]] beast::tcp_stream& tcp() noexcept { return beast::get_lowest_layer(stream_); }

    void greet(const beast::error_code& ec) {
        waits_ = false;
        if (!listed_) return;  // it has made room
        if constexpr (secure) {
            if (!ec) {
                known_ = !shared_.options.anyone;
                if (known_) {
                    certificate_ = transport::peer_of(stream_.native_handle());
                    role_ = role_of(certificate_, *shared_.options.access);
                }
                return read();
            }
            refuse({}, ec.category() == asio::error::get_ssl_category()
                           ? transport::reason_of(stream_.native_handle(), static_cast<unsigned long>(ec.value()))
                       : ec == beast::error::timeout ? "it showed no certificate in time"
                                                     : "it ended the connection before it had shown a certificate");
            wait_for_peer();
            end_sending();
            drain(unknown_drain_max);  // what it asks already; else it might not see why it is refused
        }
    }

    void refuse(const std::string& who, const std::string& why) {
        if (shared_.options.refused) shared_.options.refused({peer_.to_string(), who, why});
    }

    void read() {
        wait_for_peer();
        parser_.emplace();
        parser_->header_limit(shared_.options.header_size_max);
        parser_->body_limit(!not_allowed(true)       ? shared_.options.body_size_max.count()
                            : role_ == Role::station ? station_body_max
                                                     : 0);
        tcp().expires_never();
        // A timer of our own: the stream's would close the connection, and a slow client should get the reason.
        timer_.expires_after(shared_.options.deadline);
        timer_.async_wait([self = this->shared_from_this()](const beast::error_code& stopped) {
            if (stopped) return;
            self->too_slow_ = true;
            self->tcp().cancel();
        });
        http::async_read(stream_, buffer_, *parser_,
                         [self = this->shared_from_this()](const beast::error_code& ec, std::size_t) {
                             self->timer_.cancel();
                             self->take(ec);
                         });
    }

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
        if (ec == http::error::body_limit && not_allowed(true)) return forbid(*not_allowed(true));
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
                     .body = std::move(parser_->get().body()),
                     .person = certificate_.ours || certificate_.names.empty() ? "" : certificate_.names.front(),
                     .role = role_,
                     .key = certificate_.key,
                     .address = address(),
                     .of_page = request.find(http::field::origin) != request.end(),  // others do not get so far
                     .takes_gzip = http::token_list{request[http::field::accept_encoding]}.exists("gzip"),
                     .if_none_match = std::string(request[http::field::if_none_match])});
    }

    /// IPv4 as it is written there, also where the server listens for IPv6.
    std::string address() const {
        if (!peer_.is_v6() || !peer_.to_v6().is_v4_mapped()) return peer_.to_string();
        return asio::ip::make_address_v4(asio::ip::v4_mapped, peer_.to_v6()).to_string();
    }

    bool is_for_stations(const std::string& path) const {
        return std::ranges::any_of(shared_.routes,
                                   [&](const HttpRoute& route) { return route.for_stations && route.path == path; });
    }

    void find_answer(const HttpRequest& request) {
        const auto verb = parser_->get().method();
        if (!shared_.options.token.empty()) {
            if (const auto answer = asks_without_token(request)) return respond(*answer);
        }
        const bool own = role_ == Role::station && is_for_stations(request.path);
        if (const auto why = not_allowed(verb != http::verb::get && verb != http::verb::head && !own))
            return forbid(*why);
        std::string allowed, paths;
        for (const auto& route : shared_.routes) {
            if (!reaches(route.path, request.path)) {
                if (paths.find(route.path) == paths.npos) paths.append(paths.empty() ? "" : ", ").append(route.path);
                continue;
            }
            const bool post = route.method == HttpRoute::Method::post;
            if (post ? verb == http::verb::post : verb == http::verb::get || verb == http::verb::head) {
                if (post) {
                    if (const auto why = not_ours()) return respond(http_error(why->first, why->second));
                }
                return handle(route, request);
            }
            allowed.append(allowed.empty() ? "" : ", ").append(post ? "POST" : "GET, HEAD");
        }
        if (allowed.empty()) return respond(http_error(404, fmt::format("there is nothing here; there is {}", paths)));
        allow_ = allowed;
        respond(http_error(405, fmt::format("only {}", allowed)));
    }

    /// The answer to who has not shown the token with this request; nothing: it has.
    std::optional<HttpResponse> asks_without_token(const HttpRequest& request) {
        const auto& asked = parser_->get();
        const auto& token = shared_.options.token;
        if (const auto shown =
                token_of(asked[http::field::cookie], asked[http::field::authorization], token_cookie(shared_.port));
            shown && transport::same_secret(*shown, token)) {
            const bool reads = asked.method() == http::verb::get || asked.method() == http::verb::head;
            return reads ? std::nullopt
                         : std::optional(http_error(403, "who has the token looks, and changes nothing"));
        }
        constexpr std::string_view in_query = "token=";
        if (request.path == "/" && std::string_view(request.query).starts_with(in_query) &&
            transport::same_secret(std::string_view(request.query).substr(in_query.size()), token)) {
            HttpResponse response{.status = 303, .body = "", .content_type = "text/plain"};
            response.headers = {
                {"Location", "/"},
                {"Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Lax{}", token_cookie(shared_.port), token,
                                           secure ? "; Secure" : "")}};
            return response;
        }
        refuse({}, "it showed no token, or a wrong one");
        return http_error(403,
                          "whoever looks here shows a token: open the address that weir run printed, with its token");
    }

    /// One question that cannot be answered ends no station.
    void handle(const HttpRoute& route, const HttpRequest& request) {
        const auto answer = answer_later();
        try {
            route.handle(request, answer);
        } catch (const std::exception& error) {
            answer(http_error(500, fmt::format("{} cannot be answered: {}", request.path, error.what())));
        }
    }

    /// "/stations/*" is reached by everything below it.
    static bool reaches(std::string_view route, std::string_view path) {
        return route.ends_with("/*") ? path.starts_with(route.substr(0, route.size() - 1)) : route == path;
    }

    void forbid(const std::string& why) {
        refuse(certificate_.names.empty() ? "?" : certificate_.names.front(), why);
        respond(http_error(403, why));
    }
    std::optional<std::string> not_allowed(bool command) const {
        return shared_.options.access && !shared_.options.anyone ? forbidden(certificate_, role_, command)
                                                                 : std::nullopt;
    }

    /// A web page of another server can make a browser send such requests here, but not with this content type, and not
    /// without its origin.
    std::optional<std::pair<unsigned, std::string_view>> not_ours() const {
        const auto& request = parser_->get();
        const auto origin = request.find(http::field::origin);
        if (origin != request.end() && !is_own_origin(origin->value(), request[http::field::host], secure))
            return std::pair(403U, "requests of web pages of another server are not taken");
        const auto type = request[http::field::content_type];
        if (!type.starts_with("application/json"))
            return std::pair(415U, "the body must be JSON, with Content-Type: application/json");
        return std::nullopt;
    }

    HttpAnswer answer_later() {
        timer_.expires_after(shared_.options.answer_deadline);  // keeps this session until the answer is there
        timer_.async_wait([self = this->shared_from_this()](const beast::error_code& stopped) {
            if (!stopped)
                self->answer(HttpResponse(http_error(504, "no answer was found in time")), self->served_total_);
        });
        return [weak = this->weak_from_this(), gate = shared_.gate, which = served_total_](HttpResponse response) {
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
        if (response.after <= std::chrono::milliseconds{0}) return respond(std::move(response));
        timer_.expires_after(std::exchange(response.after, {}));
        timer_.async_wait(
            [self = this->shared_from_this(), which, response = std::move(response)](const beast::error_code& stopped) {
                if (!stopped) self->answer(response, which);
            });
    }

    void respond(HttpResponse answer) {
        ++served_total_;
        wait_for_peer();
        response_ = {};
        response_.version(11);
        response_.result(answer.status);
        response_.set(http::field::content_type, answer.content_type);
        for (const auto& [name, value] : answer.headers) response_.set(name, value);
        if (!shared_.options.token.empty()) response_.set("Weir-View", "only");
        if (!allow_.empty()) response_.set(http::field::allow, std::exchange(allow_, {}));
        response_.body() = std::move(answer.body);
        response_.keep_alive(keep_);
        response_.prepare_payload();
        if (head_) {
            const auto size = response_.body().size();
            response_.body().clear();
            response_.content_length(size);  // what GET would have sent
        }
        tcp().expires_after(shared_.options.deadline);
        http::async_write(stream_, response_,
                          [self = this->shared_from_this()](const beast::error_code& failed, std::size_t) {
                              if (failed) return;
                              if (self->keep_) return self->read();
                              self->end();
                          });
    }

    void end() {
        if constexpr (secure) {  // the peer is told that this is all; not waited for longer than for the answer
            stream_.async_shutdown(
                [self = this->shared_from_this()](const beast::error_code&) { self->end_connection(); });
        } else {
            end_connection();
        }
    }
    void end_sending() {
        beast::error_code ignored;  // the peer may be gone already
        tcp().socket().shutdown(Tcp::socket::shutdown_send, ignored);
    }
    void end_connection() {
        end_sending();
        if (!parser_->is_done()) drain(drain_max);
    }

    /// A connection that is closed with bytes unread is reset, and the peer may lose the answer with the reason.
    void drain(std::size_t at_most) {
        tcp().socket().async_read_some(asio::buffer(waste_), [self = this->shared_from_this(), at_most](
                                                                 const beast::error_code& ec, std::size_t size) {
            self->drained_ += size;
            if (!ec && self->drained_ < at_most) return self->drain(at_most);
            self->timer_.cancel();
        });
        if (std::exchange(draining_, true)) return;
        timer_.expires_after(shared_.options.deadline);
        timer_.async_wait([self = this->shared_from_this()](const beast::error_code& stopped) {
            beast::error_code ignored;
            if (!stopped) self->tcp().socket().close(ignored);
        });
    }

    Stream stream_;
    asio::steady_timer timer_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::string_body> response_;
    const asio::ip::address peer_;
    transport::TlsPeer certificate_{};  // with the next: of TLS, after the handshake
    std::optional<Role> role_{};
    Shared& shared_;
    std::optional<std::list<HttpConnection*>::iterator> listed_;  // nothing: it has made room
    bool waits_ = false;
    std::string allow_;
    std::uint32_t served_ = 0;
    std::uint64_t served_total_ = 0;
    std::array<char, 16'384> waste_;
    std::size_t drained_ = 0;
    bool known_ = false, too_slow_ = false, head_ = false, keep_ = false, draining_ = false;
};

}  // namespace weir::service
