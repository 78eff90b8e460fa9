// SPDX-License-Identifier: Apache-2.0
// The machine of a sender's connection, moved through hours without waiting: time is what the test says it is.
#include "sending/sender_link.hpp"

#include <gtest/gtest.h>

#include "weir/base/testing/eventually.hpp"
#include "weir/transport/reserved_port.hpp"

namespace weir::delivery {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using transport::Transfer;
using wire::MessageType;

/// The other end: reads messages, sends bytes. Never waits.
class Peer {
public:
    explicit Peer(transport::Socket socket) : socket_(std::move(socket)) {}

    void send(const auto& message) {
        std::vector<std::byte> bytes;
        wire::encode(message, bytes);
        ASSERT_EQ(socket_.write(bytes).value().count, bytes.size());
    }
    /// The type of the next message; nothing when there is none yet.
    std::optional<MessageType> receive() {
        while (true) {
            const auto step = assembler_.feed(input_);
            if (step == wire::FrameAssembler::Step::message) return static_cast<MessageType>(assembler_.header().type);
            if (step == wire::FrameAssembler::Step::payload) {
                assembler_.skip();
                return static_cast<MessageType>(assembler_.header().type);
            }
            if (step == wire::FrameAssembler::Step::payload_end) continue;
            const auto read = socket_.read(room_).value();
            if (read.state != Transfer::State::done) return std::nullopt;
            input_ = ConstData(room_).first(read.count);
        }
    }
    bool closed() { return socket_.read(room_).value().state == Transfer::State::closed; }
    void close() { socket_.close(); }

private:
    transport::Socket socket_;
    wire::FrameAssembler assembler_;
    std::vector<std::byte> room_ = std::vector<std::byte>(65536);
    ConstData input_;
};

class SenderLinkTest : public ::testing::Test {
protected:
    static SenderOptions options() {
        SenderOptions o;
        o.run = RunNumber{7};
        o.backoff_first = 50ms;
        o.backoff_last = 180ms;
        o.connect_timeout = 5s;
        o.give_up_after = 1h;
        return o;
    }
    SenderLink make(const transport::HostPort& host) {
        return SenderLink(options_, host, {"sender", 3, 0, RunNumber{7}}, transport::EventLoop::create().value(),
                          std::nullopt, buffer_, time_);
    }
    /// Steps at the time that it is, until `condition`.
    bool step_until(SenderLink& link, const auto& condition) {
        return eventually([&] {
            due_ = link.step(time_, link.await(time_, time_));
            return condition();
        });
    }
    /// The host and port of a listener.
    transport::HostPort begin_listening() {
        listener_.emplace(transport::Listener::open({"127.0.0.1", 0}).value());
        return {"127.0.0.1", listener_->port()};
    }
    Peer accept(SenderLink& link) {
        std::optional<transport::Socket> socket;
        EXPECT_TRUE(step_until(link, [&] {
            socket = listener_->accept().value();
            return socket.has_value();
        }));
        return Peer(std::move(*socket));
    }
    bool receives(SenderLink& link, Peer& peer, MessageType type) {
        std::optional<MessageType> received;
        return step_until(link, [&] { return (received = peer.receive()).has_value(); }) && received == type;
    }

    SenderOptions options_ = options();
    SendBuffer buffer_{options_};
    SteadyTime time_{24h};
    std::optional<SteadyTime> due_;
    std::optional<transport::Listener> listener_;
};

TEST_F(SenderLinkTest, TriesAgainAfterPausesThatDoubleAndFailsAfterTheTimeWithoutAConnection) {
    const auto reserved = transport::ReservedPort::take({"127.0.0.1", 0}).value();  // nobody listens there
    auto link = make(reserved.address());
    for (const auto pause : {50ms, 100ms, 180ms, 180ms}) {
        ASSERT_TRUE(step_until(link, [&] { return due_ == time_ + pause; })) << pause.count();
        EXPECT_EQ(link.step(*due_ - 1ms, {}), due_) << "it tries again before its time";
        time_ = *due_;
    }
    EXPECT_TRUE(buffer_.stats().last_problem.contains("Connection refused")) << buffer_.stats().last_problem;
    time_ = SteadyTime{25h} - 1ms;
    ASSERT_TRUE(step_until(link, [&] { return due_ == time_ + 180ms; }));
    EXPECT_FALSE(buffer_.failure());
    time_ += 180ms;
    ASSERT_TRUE(step_until(link, [&] { return link.ended(); }));
    EXPECT_EQ(due_, std::nullopt);
    EXPECT_TRUE(buffer_.failure()->message().contains("no connection for 3600 s")) << buffer_.failure()->message();
}

TEST_F(SenderLinkTest, TheTimeToConnectBeginsWhenTheNameIsResolved) {
    auto link = make(begin_listening());
    ASSERT_EQ(link.step(time_, {}), time_) << "resolved: it wants to go on at once, with the time that it is then";
    time_ += 5s;  // which the resolution took
    EXPECT_EQ(link.step(time_, {}), time_ + 5s);
    EXPECT_EQ(buffer_.stats().last_problem, "");
}

TEST_F(SenderLinkTest, ThePauseAfterANameThatIsNotFoundBeginsWhenThatIsKnown) {
    auto link = make({"no.such.host.invalid", 9});
    ASSERT_EQ(link.step(time_, {}), time_);
    time_ += 5s;  // which the resolution took
    EXPECT_EQ(link.step(time_, {}), time_ + 50ms);
    EXPECT_TRUE(buffer_.stats().last_problem.contains("no.such.host.invalid")) << buffer_.stats().last_problem;
}

TEST_F(SenderLinkTest, WithoutAWelcomeItLosesTheConnectionAtItsTime) {
    auto link = make(begin_listening());
    auto peer = accept(link);
    ASSERT_TRUE(receives(link, peer, MessageType::hello));
    EXPECT_EQ(due_, time_ + 5s);
    time_ += 5s - 1ms;
    EXPECT_EQ(link.step(time_, {}), time_ + 1ms);
    time_ += 1ms;
    EXPECT_EQ(link.step(time_, {}), time_ + 50ms);
    EXPECT_TRUE(buffer_.stats().last_problem.contains("did not answer")) << buffer_.stats().last_problem;
    EXPECT_TRUE(peer.closed());
}

TEST_F(SenderLinkTest, ShowsThatItIsThereAndLosesARecorderThatIsSilentForThreeIntervals) {
    auto link = make(begin_listening());
    auto peer = accept(link);
    ASSERT_TRUE(receives(link, peer, MessageType::hello));
    peer.send(wire::Welcome{.credit = 1 << 20, .event_size_max = 1 << 20, .run = RunNumber{7}, .heartbeat_ms = 1000});
    ASSERT_TRUE(step_until(link, [&] { return buffer_.is_connected(); }));
    ASSERT_EQ(due_, time_ + 1s);
    for (unsigned interval = 1; interval <= SenderLink::silent_beats_max; ++interval) {  // the first has the WELCOME
        time_ += 1s;
        EXPECT_EQ(link.step(time_, {}), time_ + 1s);
        if (interval == 2) {  // in this one it had sent nothing
            EXPECT_EQ(peer.receive(), MessageType::alive);
        }
    }
    EXPECT_TRUE(buffer_.is_connected());
    time_ += 1s;
    EXPECT_EQ(link.step(time_, {}), time_ + 50ms);
    EXPECT_FALSE(buffer_.is_connected());
    EXPECT_TRUE(buffer_.stats().last_problem.contains("sent nothing for 3s")) << buffer_.stats().last_problem;
}

TEST_F(SenderLinkTest, BeginsNoMoreEventsWhileARecorderThatOwesAnswersIsSilentForLongerThanItWas) {
    options_.hold_back_after = 200ms;
    auto link = make(begin_listening());
    auto peer = accept(link);
    ASSERT_TRUE(receives(link, peer, MessageType::hello));
    peer.send(wire::Welcome{.credit = 1 << 20, .event_size_max = 1 << 20, .run = RunNumber{7}});
    ASSERT_TRUE(step_until(link, [&] { return buffer_.is_connected(); }));
    time_ += 1min;  // nothing is due
    const auto add = [&] {
        const Piece piece{as_data("x"), nullptr};
        bool wake = false;
        ASSERT_TRUE(buffer_.add({}, std::span(&piece, 1), false, wake).has_value());
    };
    const auto is_sent = [&] { return receives(link, peer, MessageType::event); };
    const auto is_held_back = [&](std::uint64_t sequence) {
        link.step(time_, {});
        return !buffer_.was_sent(Sequence{sequence}) && !peer.receive();
    };
    add();
    ASSERT_TRUE(is_sent());
    time_ += 200ms;
    add();
    ASSERT_TRUE(is_sent());
    time_ += 1ms;
    add();
    EXPECT_TRUE(is_held_back(3));
    peer.send(wire::Ack{.credit = 1 << 20, .cumulative = Sequence{1}});
    ASSERT_TRUE(is_sent());
    time_ += 4 * 201ms;  // so slow it was
    add();
    ASSERT_TRUE(is_sent());
    time_ += 1ms;
    add();
    EXPECT_TRUE(is_held_back(5));
    peer.send(wire::Ack{.credit = 1 << 20, .cumulative = Sequence{4}});
    ASSERT_TRUE(is_sent());
}

TEST_F(SenderLinkTest, SaysByeAndWaitsForTheEndOfTheConnectionButNotForLong) {
    for (const bool closes : {true, false}) {
        auto link = make(begin_listening());
        auto peer = accept(link);
        ASSERT_TRUE(receives(link, peer, MessageType::hello));
        peer.send(wire::Welcome{.credit = 1 << 20, .event_size_max = 1 << 20, .run = RunNumber{7}});
        ASSERT_TRUE(step_until(link, [&] { return due_ == std::nullopt; }));  // welcomed: there is nothing to do
        link.finish(time_);
        EXPECT_EQ(link.step(time_, {}), time_ + 200ms);
        EXPECT_EQ(peer.receive(), MessageType::bye);
        EXPECT_FALSE(link.ended());
        if (closes) peer.close();
        else time_ += 200ms;
        EXPECT_TRUE(step_until(link, [&] { return link.ended(); }));
    }
}

}  // namespace
}  // namespace weir::delivery
