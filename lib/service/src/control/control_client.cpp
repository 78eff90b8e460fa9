// SPDX-License-Identifier: Apache-2.0
#include "weir/service/control_client.hpp"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <optional>
#include <type_traits>

#include "control/endpoint.hpp"
#include "weir/base/report.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

constexpr std::chrono::milliseconds deadline_unsaid{60'000};
constexpr Bytes ids_memory_max = 4_GiB;  // a station has a limit of its own for them; ours may not be the lower one

using TlsStream = beast::ssl_stream<beast::tcp_stream>;

/// One request and its answer, over `Stream`; ends when io.run() does.
template <class Stream>
class Exchange {
public:
    /// `tls` outlives it.
    Exchange(Stream stream, http::request<http::string_body> request, Bytes answer_max, const ControlTls* tls = nullptr)
        : stream_(std::move(stream)), request_(std::move(request)), tls_(tls) {
        parser_.body_limit(answer_max.count());
    }

    void begin(const Tcp::endpoint& endpoint, std::chrono::milliseconds deadline) {
        auto& tcp = beast::get_lowest_layer(stream_);
        tcp.expires_after(deadline);
        tcp.async_connect(endpoint, [this](const beast::error_code& connected) {
            if (connected) return void(ended = connected);
            if constexpr (std::is_same_v<Stream, TlsStream>) {
                stream_.async_handshake(TlsStream::client, [this](const beast::error_code& shaken) {
                    if (shaken) return void(ended = shaken);
                    stranger_ = disbelieved();
                    if (!stranger_.empty()) return void(ended = asio::error::access_denied);
                    send();
                });
            } else {
                send();
            }
        });
    }

    /// Why it failed, in words.
    [[nodiscard]] std::string reason() {
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            if (ended.category() == asio::error::get_ssl_category())
                return transport::reason_of(stream_.native_handle(), static_cast<unsigned long>(ended.value()));
        }
        return stranger_.empty() ? ended.message() : stranger_;
    }
    [[nodiscard]] ControlAnswer answer() { return {parser_.get().result_int(), std::move(parser_.get().body())}; }

    beast::error_code ended = asio::error::would_block;

private:
    /// Why who answers is not believed; empty: he is.
    [[nodiscard]] std::string disbelieved() {
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            if (tls_->own && !transport::peer_of(stream_.native_handle()).ours)
                return "its certificate is not the partition's own";
            if (!tls_->believe) return {};
            const auto believed = tls_->believe(stream_.native_handle());
            return believed ? std::string() : believed.error().message();
        }
        return {};
    }
    void send() {
        http::async_write(stream_, request_, [this](const beast::error_code& written, std::size_t) {
            // A server that refuses a large body answers before it was read: look for the answer in any case.
            if (written == beast::error::timeout) return void(ended = written);
            http::async_read(stream_, buffer_, parser_,
                             [this](const beast::error_code& read, std::size_t) { ended = read; });
        });
    }

    Stream stream_;
    beast::flat_buffer buffer_;
    http::request<http::string_body> request_;
    http::response_parser<http::string_body> parser_;
    const ControlTls* tls_;
    std::string stranger_;  // why who answers is not believed
};

template <class Stream>
Result<ControlAnswer> exchange(asio::io_context& io, Exchange<Stream>& talk, const Tcp::endpoint& endpoint,
                               const std::string& path, std::chrono::milliseconds deadline,
                               const std::string& address) {
    talk.begin(endpoint, deadline);
    {
        const ScopedWait wait(WaitCause::peer);
        io.run();
    }
    if (talk.ended == beast::error::timeout)
        return fail(Errc::limit, fmt::format("{} did not answer {} within {}", address, path, to_string(deadline)));
    if (talk.ended) return fail(Errc::io, fmt::format("{} does not answer {}: {}", address, path, talk.reason()));
    return talk.answer();
}

}  // namespace

std::string ControlAnswer::error() const {
    if (const auto document = json::parse(body)) {
        json::Fields fields(*document, "the answer");
        const auto text = fields.text("error", "", 65'536);
        if (fields.result() && !text.empty()) return text;
    }
    return fmt::format("answered with status {}: {}", status, on_one_line(body, 200));
}

Result<ControlAnswer> ControlClient::ask(bool post, const std::string& path, const std::string& body,
                                         std::chrono::milliseconds deadline) const {
    const auto endpoint = WEIR_TRY(parse_endpoint(address_));
    try {
        http::request<http::string_body> request(post ? http::verb::post : http::verb::get, path, 11);
        request.set(http::field::host, address_);
        request.set(http::field::connection, "close");
        if (post) {
            request.set(http::field::content_type, "application/json");
            request.body() = body;
        }
        request.prepare_payload();
        asio::io_context io{1};
        if (!tls_) {
            Exchange<beast::tcp_stream> talk(beast::tcp_stream(io), std::move(request), answer_max_);
            return exchange(io, talk, endpoint, path, deadline, address_);
        }
        SSL_CTX_up_ref(tls_->context.native());
        asio::ssl::context context(tls_->context.native());  // and takes it
        TlsStream stream(io, context);
        if (!tls_->own && !tls_->believe && !endpoint.address().is_loopback() &&
            !transport::TlsContext::expect(stream.native_handle(), endpoint.address().to_string()))
            return fail(Errc::io, fmt::format("cannot begin TLS with {}", address_));
        Exchange<TlsStream> talk(std::move(stream), std::move(request), answer_max_, &*tls_);
        return exchange(io, talk, endpoint, path, deadline, address_);
    } catch (const std::system_error& error) {  // Asio's constructors, when there are no descriptors
        return fail_errno(error.code().value(), fmt::format("cannot ask {}", address_));
    }
}

Result<ControlAnswer> ControlClient::get(const std::string& path, std::chrono::milliseconds deadline) const {
    return ask(false, path, {}, deadline);
}

Result<ControlAnswer> ControlClient::post(const std::string& path, const std::string& json,
                                          std::chrono::milliseconds deadline) const {
    return ask(true, path, json, deadline);
}

Result<StationReport> ControlClient::status(std::chrono::milliseconds deadline) const {
    const auto answer = WEIR_TRY(get("/status", deadline));
    if (!answer.good()) return fail(Errc::io, answer.error());
    return parse_station_report(answer.body);
}

Result<StationEvents> ControlClient::events(std::chrono::milliseconds deadline) const {
    const auto answer = WEIR_TRY(get("/events", deadline));
    if (!answer.good()) return fail(Errc::io, answer.error());
    return parse_station_events(answer.body, ids_memory_max);
}

Result<StationState> ControlClient::request(const StationRequest& request, std::chrono::milliseconds patience) const {
    const auto answer =
        WEIR_TRY(post("/transition", to_json(request), request.deadline.value_or(deadline_unsaid) + patience));
    if (!answer.good())
        return fail(answer.status == 409   ? Errc::refused
                    : answer.status == 504 ? Errc::limit
                                           : Errc::usage,
                    answer.error());
    const auto document = WEIR_TRY(json::parse(answer.body));
    json::Fields fields(document, "the answer");
    const auto state = parse_station_state(fields.text("state"));
    if (!state) return fail(Errc::unsupported, fmt::format("{} answered with an unknown state", address_));
    return *state;
}

}  // namespace weir::service
