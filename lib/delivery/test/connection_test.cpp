// SPDX-License-Identifier: Apache-2.0
// A connection of the receiver at moments that a test chooses.
#include "receiving/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "end_to_end.hpp"

namespace weir::delivery::test {
namespace {

class ConnectionTest : public ::testing::TestWithParam<std::uint8_t> {};

TEST_P(ConnectionTest, IsNotThoughtSilentBecauseItsDeadlineMovedWhileItPassed) {
    memory::BufferPool pool(Bytes{1U << 20});
    RecordingSink sink;
    ReceiverOptions options;
    options.event_size_max = Bytes{1000};
    Context context(options, pool, sink, {});
    const auto mailbox = std::make_shared<Mailbox>(transport::EventLoop::create().value());
    std::array<int, 2> fds{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()), 0);
    transport::Socket peer(fds[1]);
    const bool memory_wanted = false;
    const SteadyTime now{};
    Connection connection(context, mailbox, memory_wanted, 1, transport::Socket(fds[0]), now);
    std::vector<std::byte> bytes;
    auto hello = hello_as("peer");
    hello.protocol = GetParam();
    wire::encode(hello, bytes);
    ASSERT_TRUE(peer.write(bytes).has_value());
    std::vector<std::byte> staging(Connection::staging_size);
    connection.readable(staging, now);
    ASSERT_EQ(connection.state(), Connection::State::running);
    const auto deadline = connection.deadline();
    for (int n = 0; n < 10; ++n) connection.deadline_passed(now);  // as when the pace that is asked for has just fallen
    EXPECT_EQ(connection.state(), Connection::State::running);
    EXPECT_EQ(connection.deadline(), deadline);
}

INSTANTIATE_TEST_SUITE_P(OfEachProtocol, ConnectionTest, ::testing::Values<std::uint8_t>(1, 2));

}  // namespace
}  // namespace weir::delivery::test
