// SPDX-License-Identifier: Apache-2.0
#include "control/control_connection.hpp"

#include <fmt/format.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <type_traits>

#include "control/endpoint.hpp"
#include "weir/service/control_access.hpp"

namespace weir::service {
namespace {

using ClientTlsStream = beast::ssl_stream<beast::tcp_stream>;

/// Of the partition: it has our own key, or is of another machine of ours.
bool is_part(const transport::TlsPeer& peer) {
    return peer.ours || std::ranges::find(peer.units, unit_of(Role::station)) != peer.units.end();
}

/// Kept by its pending operations, which a closed one ends.
template <class Stream>
class Connection final : public ControlConnection, public std::enable_shared_from_this<Connection<Stream>> {
public:
    Connection(Stream stream, const ControlPlace& place, Bytes answer_max, const ControlTls* tls)
        : stream_(std::move(stream)), endpoint_(place.endpoint), answer_max_(answer_max) {
        if (tls != nullptr) tls_ = *tls;
    }

    void ask(HttpQuestion request, std::chrono::milliseconds deadline, Done done) override {
        request_ = std::move(request);
        done_ = std::move(done);
        parser_.emplace();
        parser_->body_limit(answer_max_.count());
        tcp().expires_after(deadline);
        if (connected_) return send();
        tcp().async_connect(endpoint_, [self = this->shared_from_this()](const beast::error_code& failed) {
            if (failed) return self->end(failed);
            self->tcp().socket().set_option(asio::ip::tcp::no_delay(true), self->ignored_);
            self->greet();
        });
    }

    [[nodiscard]] bool open() const noexcept override { return connected_; }

private:
    [[nodiscard]] beast::tcp_stream& tcp() noexcept { return beast::get_lowest_layer(stream_); }

    void greet() {
        if constexpr (!std::is_same_v<Stream, ClientTlsStream>) {
            send();
        } else {
            stream_.async_handshake(ClientTlsStream::client,
                                    [self = this->shared_from_this()](const beast::error_code& failed) {
                                        if (failed) return self->end(failed);
                                        self->stranger_ = self->disbelieved();
                                        if (!self->stranger_.empty()) return self->end(asio::error::access_denied);
                                        self->send();
                                    });
        }
    }

    /// Why who answers is not believed; empty: it is.
    [[nodiscard]] std::string disbelieved() {
        if constexpr (std::is_same_v<Stream, ClientTlsStream>) {
            const auto peer = transport::peer_of(stream_.native_handle());
            const auto address = endpoint_.address();
            if (tls_->own && is_part(peer) && !peer.ours && !address.is_loopback() &&
                X509_check_ip_asc(SSL_get0_peer_certificate(stream_.native_handle()), address.to_string().c_str(), 0) !=
                    1)
                return fmt::format("its certificate is of another machine, and not made out for {}",
                                   address.to_string());
            if (tls_->own && !is_part(peer))
                return fmt::format("its certificate is not the partition's own, and has not the organizational unit {}",
                                   unit_of(Role::station));
            if (!tls_->believe) return {};
            const auto believed = tls_->believe(stream_.native_handle());
            return believed ? std::string() : believed.error().message();
        }
        return {};
    }

    void send() {
        http::async_write(stream_, request_,
                          [self = this->shared_from_this()](const beast::error_code& failed, std::size_t) {
                              // A server that refuses a large body answers before it was read: look for the answer in
                              // any case.
                              if (failed == beast::error::timeout) return self->end(failed);
                              self->receive();
                          });
    }

    void receive() {
        http::async_read(
            stream_, buffer_, *parser_,
            [self = this->shared_from_this()](const beast::error_code& failed, std::size_t) { self->end(failed); });
    }

    void end(const beast::error_code& failed) {
        Exchanged result{
            .failed = failed, .why = failed ? reason(failed) : "", .begun = parser_->got_some(), .answer = {}};
        if (!failed) {
            auto& message = parser_->get();
            result.answer = {message.result_int(), std::move(message.body()),
                             std::string(message[http::field::content_type])};
        } else if (parser_->is_header_done()) {
            result.answer.status = parser_->get().result_int();
        }
        connected_ = !failed && parser_->keep_alive() && request_.keep_alive();
        tcp().expires_never();
        if (!connected_) tcp().socket().close(ignored_);
        std::exchange(done_, nullptr)(std::move(result));
    }

    [[nodiscard]] std::string reason(const beast::error_code& failed) {
        if constexpr (std::is_same_v<Stream, ClientTlsStream>) {
            if (failed.category() == asio::error::get_ssl_category())
                return transport::reason_of(stream_.native_handle(), static_cast<unsigned long>(failed.value()));
        }
        return stranger_.empty() ? failed.message() : stranger_;
    }

    Stream stream_;
    beast::flat_buffer buffer_;
    HttpQuestion request_;
    std::optional<http::response_parser<http::string_body>> parser_;
    Done done_;
    const asio::ip::tcp::endpoint endpoint_;
    const Bytes answer_max_;
    std::optional<ControlTls> tls_;
    std::string stranger_;  // why who answers is not believed
    bool connected_ = false;
    beast::error_code ignored_;
};

}  // namespace

Result<ControlAnswer> answer_of(Exchanged exchanged, const std::string& address, const std::string& path,
                                std::chrono::milliseconds deadline) {
    if (exchanged.failed == beast::error::timeout)
        return fail(Errc::limit, fmt::format("{} did not answer {} within {}", address, path, to_string(deadline)));
    if (exchanged.failed) return fail(Errc::io, fmt::format("{} does not answer {}: {}", address, path, exchanged.why));
    return std::move(exchanged.answer);
}

Result<ControlPlace> parse_control_place(const std::string& address) {
    const auto slash = std::min(address.find('/'), address.size());
    auto host = address.substr(0, slash);
    const auto endpoint = WEIR_TRY(parse_endpoint(host));
    return ControlPlace{endpoint, std::move(host), address.substr(slash), {}};
}

HttpQuestion http_question(const ControlPlace& place, bool post, const std::string& path, const std::string& body,
                           bool keep) {
    HttpQuestion request(post ? http::verb::post : http::verb::get, place.prefix + path, 11);
    request.set(http::field::host, place.host);
    request.keep_alive(keep);
    if (post) {
        request.set(http::field::content_type, "application/json");
        request.body() = body;
    }
    request.prepare_payload();
    return request;
}

Result<std::shared_ptr<ControlConnection>> control_connection(asio::io_context& io, const ControlPlace& place,
                                                              const std::optional<ControlTls>& tls, Bytes answer_max) {
    if (!tls) return std::make_shared<Connection<beast::tcp_stream>>(beast::tcp_stream(io), place, answer_max, nullptr);
    SSL_CTX_up_ref(tls->context.native());
    asio::ssl::context context(tls->context.native());  // and takes it
    ClientTlsStream stream(io, context);
    const auto address = place.endpoint.address();
    const bool named = !tls->own && !tls->believe && !address.is_loopback();
    if ((named || !place.certified.empty()) &&
        !transport::TlsContext::expect(stream.native_handle(),
                                       place.certified.empty() ? address.to_string() : place.certified))
        return fail(Errc::io, fmt::format("cannot begin TLS with {}", place.host));
    return std::make_shared<Connection<ClientTlsStream>>(std::move(stream), place, answer_max, &*tls);
}

}  // namespace weir::service
