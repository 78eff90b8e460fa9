// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/socket.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <array>
#include <vector>

namespace weir::transport {
namespace {

bool wait_for(const Socket& socket, short what) {
    pollfd one{socket.fd(), what, 0};
    return ::poll(&one, 1, 60'000) == 1;
}

struct Pair {
    Socket client, server;
};

Pair connected_pair(const SocketOptions& options = {}) {
    auto listener = Listener::open({"127.0.0.1", 0}, options).value();
    Pair pair;
    pair.client = begin_connect(listener.local(), options).value();
    EXPECT_TRUE(wait_for(pair.client, POLLOUT));
    EXPECT_EQ(pair.client.pending_error(), 0);
    pollfd waiting{listener.fd(), POLLIN, 0};  // the client may know before the listener does
    EXPECT_EQ(::poll(&waiting, 1, 60'000), 1);
    auto accepted = listener.accept();
    EXPECT_TRUE(accepted.has_value() && accepted->has_value());
    pair.server = std::move(**accepted);
    return pair;
}

TEST(Socket, CarriesBytesBothWaysAndReturnsWouldBlock) {
    const auto pair = connected_pair();
    std::array<std::byte, 16> room{};
    EXPECT_EQ(pair.server.read(room).value().state, Transfer::State::would_block);
    EXPECT_EQ(pair.client.write(as_data("hello")).value().count, 5U);
    ASSERT_TRUE(wait_for(pair.server, POLLIN));
    const auto got = pair.server.read(room).value();
    EXPECT_EQ(got.state, Transfer::State::done);
    EXPECT_EQ(as_text(std::span(room).first(got.count)), "hello");
    EXPECT_EQ(pair.server.write(as_data("ok")).value().count, 2U);
    ASSERT_TRUE(wait_for(pair.client, POLLIN));
    EXPECT_EQ(pair.client.read(room).value().count, 2U);
}

TEST(Socket, ReadsIntoAndWritesFromSeveralPlacesAtOnce) {
    const auto pair = connected_pair();
    std::string a = "he", b = "llo";
    const std::array<iovec, 2> out{iovec{a.data(), a.size()}, iovec{b.data(), b.size()}};
    EXPECT_EQ(pair.client.write(out).value().count, 5U);
    ASSERT_TRUE(wait_for(pair.server, POLLIN));
    std::string c(3, '.'), d(8, '.');
    const std::array<iovec, 2> in{iovec{c.data(), c.size()}, iovec{d.data(), d.size()}};
    EXPECT_EQ(pair.server.read(in).value().count, 5U);
    EXPECT_EQ(c + d, "hello......");
}

TEST(Socket, APeerThatIsGoneIsAnAnswerNotAnErrorAndNoSignal) {
    auto pair = connected_pair();
    pair.server.close();
    std::array<std::byte, 16> room{};
    ASSERT_TRUE(wait_for(pair.client, POLLIN));
    EXPECT_EQ(pair.client.read(room).value().state, Transfer::State::closed);
    for (int i = 0; i < 100; ++i) {
        const auto written = pair.client.write(as_data("x"));
        ASSERT_TRUE(written.has_value());
        if (written->state == Transfer::State::closed) return;
        static_cast<void>(wait_for(pair.client, POLLIN));
    }
    FAIL() << "writing to a closed peer never ended";
}

TEST(Socket, AfterFinishSendingThePeerSeesTheEndAndCanStillAnswer) {
    auto pair = connected_pair();
    pair.client.finish_sending();
    std::array<std::byte, 16> room{};
    ASSERT_TRUE(wait_for(pair.server, POLLIN));
    EXPECT_EQ(pair.server.read(room).value().state, Transfer::State::closed);
    EXPECT_EQ(pair.server.write(as_data("bye")).value().count, 3U);
    ASSERT_TRUE(wait_for(pair.client, POLLIN));
    EXPECT_EQ(pair.client.read(room).value().count, 3U);
}

TEST(Socket, IsSetUpForSmallMessagesAndDeadPeers) {
    const auto pair = connected_pair({.receive_buffer = Bytes{128 * 1024}, .send_buffer = Bytes{128 * 1024}});
    for (const auto* socket : {&pair.client, &pair.server}) {
        const auto get = [socket](int level, int option) {
            int value = 0;
            socklen_t size = sizeof(value);
            EXPECT_EQ(::getsockopt(socket->fd(), level, option, &value, &size), 0);
            return value;
        };
        EXPECT_NE(get(IPPROTO_TCP, TCP_NODELAY), 0);
        EXPECT_NE(get(SOL_SOCKET, SO_KEEPALIVE), 0);
        EXPECT_EQ(get(IPPROTO_TCP, TCP_USER_TIMEOUT), 30'000);
        EXPECT_EQ(get(IPPROTO_TCP, TCP_KEEPIDLE), 15);
        EXPECT_EQ(get(SOL_SOCKET, SO_RCVBUF), 2 * 128 * 1024);  // Linux doubles it for its own use
        EXPECT_EQ(get(SOL_SOCKET, SO_SNDBUF), 2 * 128 * 1024);
    }
}

TEST(Listener, OnAPortInUseFailsWithTheRemedy) {
    const auto first = Listener::open({"127.0.0.1", 0}).value();
    const auto second = Listener::open({"127.0.0.1", first.port()});
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().message(), "cannot listen on 127.0.0.1:" + std::to_string(first.port()) +
                                            ": Address already in use; stop the other program or choose another port "
                                            "(--listen; in a partition file, the station's input)");
}

TEST(Listener, OnAnAddressOfAnotherMachineFailsWithTheReason) {
    const auto listener = Listener::open({"192.0.2.1", 0});  // a documentation address (RFC 5737)
    ASSERT_FALSE(listener.has_value());
    EXPECT_NE(listener.error().message().find("no such address"), std::string::npos) << listener.error().message();
}

TEST(Listener, WithoutAConnectionHasNothing) {
    auto listener = Listener::open({"127.0.0.1", 0}).value();
    const auto accepted = listener.accept();
    ASSERT_TRUE(accepted.has_value());
    EXPECT_FALSE(accepted->has_value());
}

TEST(Connect, ToAClosedPortIsRefusedThroughThePendingError) {
    Address address;
    {
        const auto listener = Listener::open({"127.0.0.1", 0}).value();
        address = listener.local();
    }
    const auto socket = begin_connect(address, {});
    if (!socket) {
        EXPECT_EQ(socket.error().os_errno, ECONNREFUSED);
        return;
    }
    ASSERT_TRUE(wait_for(*socket, POLLOUT));
    EXPECT_EQ(socket->pending_error(), ECONNREFUSED);
}

}  // namespace
}  // namespace weir::transport
