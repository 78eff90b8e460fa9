// SPDX-License-Identifier: Apache-2.0
#include "weir/service/control_calls.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

#include "test_certificates.hpp"
#include "weir/service/http_server.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 120s;

HttpRoute echo() {
    return {HttpRoute::Method::get, "/echo", [](const HttpRequest& request, const HttpAnswer& answer) {
                answer({.status = 200, .body = request.query, .content_type = "text/plain"});
            }};
}

std::future<Result<ControlAnswer>> get(ControlCalls& calls, const std::string& address, const std::string& path,
                                       std::chrono::milliseconds deadline = patience) {
    auto promise = std::make_shared<std::promise<Result<ControlAnswer>>>();
    auto future = promise->get_future();
    calls.get(address, path, deadline,
              [promise](Result<ControlAnswer> answer) { promise->set_value(std::move(answer)); });
    return future;
}

TEST(ControlCallsTest, ManyQuestionsAreAnsweredEachWithItsOwn) {
    const auto server = HttpServer::start({.connections_max = 64, .connections_per_peer_max = 64}, {echo()});
    ASSERT_TRUE(server);
    const auto calls = ControlCalls::start();
    ASSERT_TRUE(calls);
    std::vector<std::future<Result<ControlAnswer>>> answers;
    for (int i = 0; i < 50; ++i) answers.push_back(get(**calls, server->address(), "/echo?" + std::to_string(i)));
    for (int i = 0; i < 50; ++i) {
        const auto answer = answers[static_cast<std::size_t>(i)].get();
        ASSERT_TRUE(answer) << answer.error().message();
        EXPECT_EQ(answer->body, std::to_string(i));
        EXPECT_EQ(answer->content_type, "text/plain");
    }
}

TEST(ControlCallsTest, AConnectionThatTheServerHasEndedIsOpenedAnew) {
    const auto server = HttpServer::start({.requests_max = 3}, {echo()});
    ASSERT_TRUE(server);
    const auto calls = ControlCalls::start();
    ASSERT_TRUE(calls);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(get(**calls, server->address(), "/echo?x").get());
    auto address = server->address();
    {
        const auto other = HttpServer::start({}, {echo()});
        ASSERT_TRUE(other);
        address = other->address();
        EXPECT_TRUE(get(**calls, address, "/echo?x").get());
    }
    const auto again = HttpServer::start({.listen = address}, {echo()});  // another process at the same place
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_TRUE(get(**calls, address, "/echo?x").get());
}

TEST(ControlCallsTest, ItSaysWhoDoesNotAnswer) {
    const auto calls = ControlCalls::start();
    ASSERT_TRUE(calls);
    const auto none = get(**calls, "127.0.0.1:1", "/status").get();
    ASSERT_FALSE(none);
    EXPECT_TRUE(none.error().message().starts_with("127.0.0.1:1 does not answer /status: ")) << none.error().message();
    const auto wrong = get(**calls, "nowhere", "/status").get();
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Errc::usage);
}

TEST(ControlCallsTest, AnAnswerThatDoesNotComeInTimeIsALimit) {
    const auto server = HttpServer::start(
        {}, {{HttpRoute::Method::get, "/never", [](const HttpRequest&, const HttpAnswer&) {}}, echo()});
    ASSERT_TRUE(server);
    const auto calls = ControlCalls::start();
    ASSERT_TRUE(calls);
    const auto answer = get(**calls, server->address(), "/never", 20ms).get();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::limit);
    EXPECT_TRUE(get(**calls, server->address(), "/echo?x").get());
}

TEST(ControlCallsTest, WhatIsUnderWayAtTheEndIsAbandoned) {
    const auto server =
        HttpServer::start({}, {{HttpRoute::Method::get, "/never", [](const HttpRequest&, const HttpAnswer&) {}}});
    ASSERT_TRUE(server);
    auto calls = ControlCalls::start();
    ASSERT_TRUE(calls);
    std::atomic<bool> answered = false;
    (*calls)->get(server->address(), "/never", patience, [&](const auto&) { answered = true; });
    calls->reset();
    EXPECT_FALSE(answered);
}

TEST(ControlCallsTest, UnderTlsOneHandshakeIsEnough) {
    transport::test::Authority authority{"ours"};
    const auto files = authority.files("partition");
    std::atomic<int> refused = 0;
    const auto server = HttpServer::start({.access = ControlAccess{files, {}, {}},
                                           .refused = [&](const HttpRefusal&) { ++refused; },
                                           .connections_max = 1,
                                           .connections_per_peer_max = 1},
                                          {echo()});
    ASSERT_TRUE(server) << server.error().message();
    auto context = transport::TlsContext::for_client(files);
    ASSERT_TRUE(context);
    context->trust_own_key();
    const auto calls = ControlCalls::start(ControlTls{*context, true});
    ASSERT_TRUE(calls);
    for (int i = 0; i < 20; ++i) {
        const auto answer = get(**calls, server->address(), "/echo?again").get();
        ASSERT_TRUE(answer) << answer.error().message();  // a second one would find no room: known ones stay
    }
    EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace weir::service
