// SPDX-License-Identifier: Apache-2.0
// A connection of the receiver at moments that a test chooses.
#include "receiving/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <optional>

#include "end_to_end.hpp"

namespace weir::delivery::test {
namespace {

/// A connection whose peer is this test.
struct Greeted {
    explicit Greeted(const ReceiverOptions& options) : context(options, pool, sink, {}) {
        std::array<int, 2> fds{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()), 0);
        peer = transport::Socket(fds[1]);
        connection.emplace(context, mailbox, memory_wanted, 1, transport::Socket(fds[0]), now);
        wire::encode(hello_as("peer"), bytes);
    }
    /// Writes what was encoded, and has the connection read once.
    void send() {
        const auto sent = peer.write(bytes);
        ASSERT_TRUE(sent.has_value());
        ASSERT_EQ(sent->count, bytes.size());
        connection->readable(staging, now);
    }

    memory::BufferPool pool{Bytes{8U << 20}};
    RecordingSink sink;
    Context context;
    const std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>(transport::EventLoop::create().value());
    const bool memory_wanted = false;
    const SteadyTime now{};
    transport::Socket peer;
    std::optional<Connection> connection;
    std::vector<std::byte> bytes;  // the HELLO first
    std::vector<std::byte> staging = std::vector<std::byte>(Connection::staging_size);
};

class ConnectionTest : public ::testing::TestWithParam<std::chrono::milliseconds> {};

TEST_P(ConnectionTest, IsNotThoughtSilentBecauseItsDeadlineMovedWhileItPassed) {
    ReceiverOptions options;
    options.event_size_max = Bytes{1000};
    options.heartbeat = GetParam();
    Greeted greeted(options);
    greeted.send();
    auto& connection = *greeted.connection;
    ASSERT_EQ(connection.state(), Connection::State::running);
    const auto deadline = connection.deadline();
    for (int n = 0; n < 10; ++n)  // as when the pace that is asked for has just fallen
        connection.deadline_passed(greeted.now);
    EXPECT_EQ(connection.state(), Connection::State::running);
    EXPECT_EQ(connection.deadline(), deadline);
}

TEST(Connection, ReadsAllThatHasComeInOneTurnSoThatItIsAnsweredTogether) {
    ReceiverOptions options;
    options.event_size_max = Bytes{100'000};
    Greeted greeted(options);
    greeted.sink.answers = false;
    const std::vector<std::byte> payload(24'000, std::byte{0x5a});  // four of them: more than one read takes
    for (std::uint64_t n = 1; n <= 4; ++n) {
        encode(wire::EventMeta{.sequence = Sequence{n}, .payload_crc = checksum::crc32c(payload), .tags = {}},
               payload.size(), greeted.bytes);
        greeted.bytes.insert(greeted.bytes.end(), payload.begin(), payload.end());
    }
    greeted.send();
    EXPECT_EQ(greeted.sink.payloads.size(), 4U);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutAHeartbeat, ConnectionTest, ::testing::Values(10s, 0s));

}  // namespace
}  // namespace weir::delivery::test
