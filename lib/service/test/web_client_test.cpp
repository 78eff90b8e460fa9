// SPDX-License-Identifier: Apache-2.0
// What a web service gets, and what becomes of one that fails. Servers of others, with TLS and without, are in
// test/run/notify_test.py.
#include "weir/service/web_client.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "weir/base/system_clock.hpp"
#include "weir/service/http_server.hpp"
#include "weir/transport/socket.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto patience = 120s;
const auto never = [] { return false; };

WebAddress address_of(std::string_view url) {
    const auto parsed = parse_web_address(url);
    EXPECT_TRUE(parsed) << url;
    return parsed.value_or(WebAddress{});
}

TEST(WebAddressTest, HasSchemeHostPortAndTarget) {
    const auto chat = address_of("https://chat.example.org/hooks/7x2?a=b#part");
    EXPECT_TRUE(chat.tls);
    EXPECT_EQ(chat.host, "chat.example.org");
    EXPECT_EQ(chat.port, 443);
    EXPECT_EQ(chat.target, "/hooks/7x2?a=b");
    EXPECT_EQ(chat.shown(), "https://chat.example.org:443");
    const auto plain = address_of("http://127.0.0.1:9095");
    EXPECT_FALSE(plain.tls);
    EXPECT_EQ(plain.port, 9095);
    EXPECT_EQ(plain.target, "/");
    EXPECT_EQ(address_of("http://[::1]/x").host, "::1");
    EXPECT_EQ(address_of("http://[::1]/x").port, 80);
    EXPECT_EQ(address_of("http://[::1]:81").port, 81);
    EXPECT_EQ(address_of("http://h?q=1").target, "/?q=1");
}

TEST(WebAddressTest, WhatIsNoneIsSaidWithoutItsText) {
    for (const auto* url : {"", "chat.example.org", "ftp://chat.example.org/", "https://", "https:///x", "http://h:0/",
                            "http://h:x/", "http://h:70000/", "http://user:secret@h/", "http://h/a b", "http://h/\n",
                            "http://a:b:c/", "http://[::1", "http://::1/"}) {
        const auto parsed = parse_web_address(url);
        ASSERT_FALSE(parsed) << url;
        EXPECT_EQ(parsed.error().code, Errc::usage);
        EXPECT_THAT(parsed.error().message(), testing::Not(HasSubstr("secret")));
    }
    EXPECT_FALSE(parse_web_address("http://h/" + std::string(3000, 'x')));
}

TEST(HttpHeadersTest, AreOneALine) {
    const auto headers = parse_http_headers("# a token\nAuthorization: Bearer abc def \r\n\nX-Lab:7");
    ASSERT_TRUE(headers) << headers.error().message();
    ASSERT_EQ(headers->size(), 2U);
    EXPECT_EQ(headers->front().name, "Authorization");
    EXPECT_EQ(headers->front().value, "Bearer abc def");
    EXPECT_EQ(headers->back().value, "7");
    for (const auto* text : {"secret", "a b: secret", "Name:", ": secret", "Name: a\x01secret"}) {
        const auto wrong = parse_http_headers(text);
        ASSERT_FALSE(wrong) << text;
        EXPECT_THAT(wrong.error().message(), HasSubstr("line 1 is no header"));
        EXPECT_THAT(wrong.error().message(), testing::Not(HasSubstr("secret")));
    }
    std::string many;
    for (int i = 0; i < 40; ++i) many += "N: v\n";
    EXPECT_FALSE(parse_http_headers(many));
}

TEST(WebClientTest, PostsTheDocumentAndGivesTheStatus) {
    std::mutex mutex;
    std::string got;
    const auto server = HttpServer::start(
        {}, {{HttpRoute::Method::post, "/hooks/7x2", [&](const HttpRequest& request, const HttpAnswer& answer) {
                  {
                      const std::scoped_lock lock(mutex);
                      got = request.body;
                  }
                  answer({.status = 202, .body = std::string(1000, 'x'), .content_type = "text/plain"});
              }}});
    ASSERT_TRUE(server);
    const auto client =
        WebClient::open(address_of("http://" + server->address() + "/hooks/7x2"), {}, {}, system_clock());
    ASSERT_TRUE(client);
    const auto status = client->post(R"({"text":"hello"})", patience, never);
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(*status, 202U);
    EXPECT_EQ(got, R"({"text":"hello"})");
    const auto elsewhere = WebClient::open(address_of("http://" + server->address() + "/x"), {}, {}, system_clock());
    EXPECT_EQ(elsewhere->post("{}", patience, never).value_or(0), 404U);
}

TEST(WebClientTest, WhoIsNotThereOrAnswersNothingIsNamed) {
    std::string address;
    {
        const auto server = HttpServer::start({}, {});
        ASSERT_TRUE(server);
        address = server->address();
    }
    const auto gone = WebClient::open(address_of("http://" + address + "/secret"), {}, {}, system_clock());
    const auto refused = gone->post("{}", patience, never);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::io);
    EXPECT_THAT(refused.error().message(), HasSubstr("http://" + address + " cannot be reached: "));
    EXPECT_THAT(refused.error().message(), testing::Not(HasSubstr("secret")));

    const auto mute = HttpServer::start({}, {{HttpRoute::Method::post, "/", [](const auto&, const auto&) {}}});
    ASSERT_TRUE(mute);
    const auto waits = WebClient::open(address_of("http://" + mute->address()), {}, {}, system_clock());
    const auto late = waits->post("{}", 200ms, never);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, Errc::limit);
    const auto abandoned = waits->post("{}", patience, [] { return true; });
    ASSERT_FALSE(abandoned);
    EXPECT_EQ(abandoned.error().code, Errc::refused);
}

TEST(WebClientNames, OneThatNobodyKnowsIsNamed) {
    const auto unknown = WebClient::open(address_of("http://nowhere.invalid/"), {}, {}, system_clock());
    const auto no_host = unknown->post("{}", patience, never);
    ASSERT_FALSE(no_host);
    EXPECT_THAT(no_host.error().message(), HasSubstr("nowhere.invalid"));
}

TEST(WebClientTest, AFileOfAuthoritiesHasToBeOne) {
    const auto client = WebClient::open(address_of("https://h/"), {}, "/nonexistent.pem", system_clock());
    ASSERT_FALSE(client);
    EXPECT_THAT(client.error().message(), HasSubstr("/nonexistent.pem"));
    EXPECT_TRUE(WebClient::open(address_of("https://h/"), {}, {}, system_clock()));
}

}  // namespace
}  // namespace weir::service
