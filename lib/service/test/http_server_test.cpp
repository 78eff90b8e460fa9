// SPDX-License-Identifier: Apache-2.0
#include "weir/service/http_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// A plain socket, so that a test can send what no HTTP library would.
class Client {
public:
    explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience{60, 0};  // a test must not hang for ever
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    Client(Client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Client& operator=(Client&&) = delete;
    ~Client() {
        if (fd_ >= 0) ::close(fd_);
    }

    void send(std::string_view text) const { static_cast<void>(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL)); }

    /// Until the server closes; nothing when it does not.
    [[nodiscard]] std::optional<std::string> receive_all() const {
        std::string all;
        char buffer[4096];
        while (true) {
            const auto got = ::recv(fd_, buffer, sizeof buffer, 0);
            if (got == 0 || (got < 0 && errno == ECONNRESET)) return all;
            if (got < 0) return std::nullopt;
            all.append(buffer, static_cast<std::size_t>(got));
        }
    }

    /// What comes first.
    [[nodiscard]] std::string receive_some() const {
        char buffer[4096];
        const auto got = ::recv(fd_, buffer, sizeof buffer, 0);
        return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
    }

private:
    int fd_;
};

class HttpServing : public ::testing::Test {
protected:
    HttpServer serve(const HttpServerOptions& options = {}) {
        metrics.counter("weir_events_total", "Events").add(42);
        auto server = HttpServer::start(options, {metrics_route(metrics)});
        EXPECT_TRUE(server.has_value()) << server.error().message();
        return std::move(server.value());
    }

    static std::string ask(std::uint16_t port, std::string_view request) {
        const Client client(port);
        client.send(request);
        return client.receive_all().value_or("no end");
    }

    Metrics metrics;
};

TEST_F(HttpServing, AnswersAScrape) {
    const auto server = serve();
    const auto answer = ask(server.port(), "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("version=0.0.4"),
                              HasSubstr("\nweir_events_total 42\n")));
}

TEST_F(HttpServing, AQuestionThatCannotBeAnsweredEndsNothing) {
    auto server = HttpServer::start(
        {}, {{HttpRoute::Method::get, "/bad", [](const HttpRequest&, const HttpAnswer&) { throw std::bad_alloc(); }},
             metrics_route(metrics)});
    ASSERT_TRUE(server);
    EXPECT_THAT(ask(server->port(), "GET /bad HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 500 "), HasSubstr("/bad cannot be answered: std::bad_alloc")));
    EXPECT_THAT(ask(server->port(), "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
                StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServing, AConnectionMayAskAgain) {
    const auto server = serve();
    const auto answer = ask(server.port(),
                            "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
                            "HEAD /metrics?a=b HTTP/1.1\r\nHost: x\r\n\r\n"
                            "GET /elsewhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("HTTP/1.1 404 Not Found\r\n"));
    const auto first = answer.find("weir_events_total 42");
    EXPECT_NE(first, answer.npos);
    EXPECT_EQ(answer.find("weir_events_total 42", first + 1), answer.npos) << "HEAD was answered with a body";
}

TEST_F(HttpServing, WhatIsNoSuchRequestIsRefusedAndTheConnectionClosed) {
    const auto server = serve();
    EXPECT_THAT(ask(server.port(), "DELETE /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
                StartsWith("HTTP/1.1 405 "));
    EXPECT_THAT(ask(server.port(), "\x16\x03\x01 no http at all\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(ask(server.port(), "GET /metrics HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n"),
                StartsWith("HTTP/1.1 4"));
    EXPECT_THAT(ask(server.port(), "GET /metrics HTTP/1.1\r\nX: " + std::string(100'000, 'x')),
                testing::Not(StartsWith("HTTP/1.1 200")));
    EXPECT_THAT(ask(server.port(), "GET /metrics HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServing, ASlowRequestIsRefusedAtTheDeadlineAndASilentConnectionClosed) {
    HttpServerOptions options;
    options.deadline = 500ms;  // so that the half request is there before it
    const auto server = serve(options);
    const Client silent(server.port());
    const Client slow(server.port());
    slow.send("GET /metr");
    EXPECT_EQ(silent.receive_all(), "");
    EXPECT_THAT(slow.receive_all().value_or(""), StartsWith("HTTP/1.1 408 "));
}

TEST_F(HttpServing, HalfRequestsKeepNobodyOut) {
    HttpServerOptions options;
    options.deadline = 1h;  // places come back by nothing else
    const auto server = serve(options);
    std::vector<std::unique_ptr<Client>> half;
    for (int i = 0; i < 40; ++i) {
        half.push_back(std::make_unique<Client>(server.port()));
        half.back()->send("GET /metr");
    }
    for (int i = 0; i < 40; ++i)
        EXPECT_THAT(ask(server.port(), "GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n"),
                    StartsWith("HTTP/1.1 200 "));
    EXPECT_EQ(half.front()->receive_all(), "") << "the one that waited longest made room";
}

TEST_F(HttpServing, WhoHasAskedBeforeStaysLongerThanWhoSendsHalfARequest) {
    HttpServerOptions options;
    options.deadline = 1h;
    options.connections_per_peer_max = 4;
    const auto server = serve(options);
    const Client known(server.port());
    known.send("GET /elsewhere HTTP/1.1\r\n\r\n");
    ASSERT_THAT(known.receive_some(), StartsWith("HTTP/1.1 404 "));
    std::vector<std::unique_ptr<Client>> half;
    for (int i = 0; i < 10; ++i) {
        half.push_back(std::make_unique<Client>(server.port()));
        half.back()->send("GET /metr");
    }
    EXPECT_EQ(half.front()->receive_all(), "");
    known.send("GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(known.receive_all().value_or("no end"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServing, WhileAllAreBeingAnsweredOneMoreIsClosedAndPlacesComeBack) {
    HttpServerOptions options;
    options.connections_max = 2;
    options.deadline = 1h;
    std::mutex mutex;
    std::vector<HttpAnswer> asked;
    auto server = HttpServer::start(options, {{.method = HttpRoute::Method::get,
                                               .path = "/slow",
                                               .handle =
                                                   [&](const HttpRequest&, HttpAnswer answer) {
                                                       const std::scoped_lock lock(mutex);
                                                       asked.push_back(std::move(answer));
                                                   }}})
                      .value();
    const auto count = [&] {
        const std::scoped_lock lock(mutex);
        return asked.size();
    };
    const Client first(server.port()), second(server.port());
    for (const auto* client : {&first, &second}) client->send("GET /slow HTTP/1.1\r\nConnection: close\r\n\r\n");
    while (count() < 2) std::this_thread::yield();
    EXPECT_EQ(ask(server.port(), "GET /slow HTTP/1.1\r\nConnection: close\r\n\r\n"), "");
    for (const auto& answer : asked) answer({.status = 200, .body = "done"});
    EXPECT_THAT(first.receive_all().value_or("no end"), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(second.receive_all().value_or("no end"), StartsWith("HTTP/1.1 200 "));
    std::string answer;
    for (int i = 0; i < 200 && answer.empty(); ++i)
        answer = ask(server.port(), "GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 "));
}

TEST_F(HttpServing, StopEndsAtOnceWithConnectionsOpen) {
    HttpServerOptions options;
    options.deadline = 1h;
    std::optional<HttpServer> server(serve(options));
    const Client idle(server->port());
    const Client half(server->port());
    half.send("GET /met");
    EXPECT_THAT(ask(server->port(), "GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
    const auto before = std::chrono::steady_clock::now();
    server.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - before, 30s);
    EXPECT_EQ(idle.receive_all(), "");
    EXPECT_EQ(half.receive_all(), "");
}

TEST_F(HttpServing, AnAddressInUseOrNoAddressIsAnError) {
    const auto server = serve();
    HttpServerOptions options;
    options.listen = "127.0.0.1:" + std::to_string(server.port());
    const auto second = HttpServer::start(options, {metrics_route(metrics)});
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().os_errno, EADDRINUSE);
    EXPECT_THAT(second.error().message(), HasSubstr(options.listen));
    for (const char* text :
         {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "nobody:80", ":80", "127.0.0.1:80x", "[::1:80"}) {
        options.listen = text;
        const auto none = HttpServer::start(options, {metrics_route(metrics)});
        ASSERT_FALSE(none.has_value()) << text;
        EXPECT_EQ(none.error().code, Errc::usage) << text;
    }
}

/// A server with one POST, which answers with what it knows of the request.
class HttpPosting : public HttpServing {
protected:
    std::string post(const std::string& headers) {
        const auto path = "/do";
        auto server = HttpServer::start(
            {}, {{HttpRoute::Method::post, path, [](const HttpRequest& request, const HttpAnswer& answer) {
                      HttpResponse response{.body = request.of_page ? "page" : "program"};
                      response.headers = {{"X-Further", "yes"}};
                      answer(std::move(response));
                  }}});
        EXPECT_TRUE(server);
        auto text = fmt::format(
            "POST {} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n{}Connection: "
            "close\r\n\r\n{{}}",
            path, headers);
        for (std::size_t at; (at = text.find("PORT")) != text.npos;)
            text.replace(at, 4, std::to_string(server->port()));
        return ask(server->port(), text);
    }
};

TEST_F(HttpPosting, ACommandOfAPageOfThisServerIsTakenAndOfAnotherServerRefused) {
    EXPECT_THAT(post("Host: 127.0.0.1:PORT\r\n"),
                AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("program"), HasSubstr("X-Further: yes\r\n")));
    EXPECT_THAT(post("Host: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT\r\n"),
                AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("page")));
    EXPECT_THAT(post("Host: localhost:PORT\r\nOrigin: http://localhost:PORT\r\n"), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(post("Host: [::1]:PORT\r\nOrigin: http://[::1]:PORT\r\n"), StartsWith("HTTP/1.1 200 "));
    for (const auto* origin :
         {"http://evil.example", "null", "", "http://127.0.0.1", "http://127.0.0.1:1", "https://127.0.0.1:PORT",
          "http://127.0.0.1:PORT.evil.example", "http://127.0.0.1:PORT/", "file://"})
        EXPECT_THAT(post(fmt::format("Host: 127.0.0.1:PORT\r\nOrigin: {}\r\n", origin)), StartsWith("HTTP/1.1 403 "))
            << origin;
}

TEST_F(HttpPosting, ANameThatItsOwnerLetsLeadHereIsNotThisServer) {
    EXPECT_THAT(post("Host: evil.example:PORT\r\nOrigin: http://evil.example:PORT\r\n"), StartsWith("HTTP/1.1 403 "));
    EXPECT_THAT(post("Origin: http://\r\n"), StartsWith("HTTP/1.1 403 "));
}

TEST(HttpToken, WhoeverShowsItLooksAndChangesNothing) {
    const std::string token = "0123456789abcdef0123";
    int posted = 0;
    const auto refused = std::make_shared<std::vector<HttpRefusal>>();
    auto server =
        HttpServer::start({.token = token, .refused = [refused](const HttpRefusal& one) { refused->push_back(one); }},
                          {{HttpRoute::Method::get, "/",
                            [](const auto&, const auto& answer) { answer({.status = 200, .body = "page"}); }},
                           {HttpRoute::Method::post, "/run",
                            [&](const auto&, const auto& answer) { ++posted, answer({.status = 200}); }}});
    ASSERT_TRUE(server);
    const auto ask = [&](const std::string& line, const std::string& header) {
        const Client client(server->port());
        client.send(line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + header + "\r\n");
        return client.receive_all().value_or("no answer");
    };
    const auto cookie = fmt::format("weir-token-{}=", server->port());
    for (const auto& header :
         {std::string(), "Cookie: " + cookie + token.substr(1) + "\r\n", "Cookie: other=" + token + "\r\n",
          std::string("Authorization: Bearer \r\n"), "Authorization: Basic " + token + "\r\n"}) {
        EXPECT_THAT(ask("GET /", header), AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("shows a token"))) << header;
    }
    EXPECT_THAT(ask("GET /?token=" + token + "0", ""), StartsWith("HTTP/1.1 403"));
    EXPECT_THAT(ask("GET /live?token=" + token, ""), StartsWith("HTTP/1.1 403"));
    EXPECT_EQ(refused->size(), 7U);
    const auto first = ask("GET /?token=" + token, "");
    EXPECT_THAT(first, AllOf(StartsWith("HTTP/1.1 303"), HasSubstr("Location: /\r\n"),
                             HasSubstr("Set-Cookie: " + cookie + token + "; Path=/; HttpOnly; SameSite=Lax\r\n")));
    for (const auto& header : {"Cookie: a=b; " + cookie + token + "\r\n", "Authorization: Bearer " + token + "\r\n"}) {
        EXPECT_THAT(ask("GET /", header),
                    AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Weir-View: only"), HasSubstr("page")));
        EXPECT_THAT(ask("POST /run", header + std::string("Content-Type: application/json\r\nContent-Length: 0\r\n")),
                    StartsWith("HTTP/1.1 403"));
    }
    EXPECT_EQ(posted, 0);
}

TEST(HttpToken, ATokenThatCouldBeGuessedOrWouldBreakAHeaderIsRefused) {
    for (const auto* token : {"short", "0123456789abcde\r\nX: y", "0123456789 abcdef"}) {
        const auto server = HttpServer::start({.token = token}, {});
        ASSERT_FALSE(server) << token;
        EXPECT_THAT(server.error().message(), HasSubstr("16 to 128 letters and digits"));
    }
}

}  // namespace
}  // namespace weir::service
