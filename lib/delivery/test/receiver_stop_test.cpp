// SPDX-License-Identifier: Apache-2.0
// How a receiver ends: its stop, and the end of a run's sessions.
#include "weir/delivery/receiver.hpp"

#include <gtest/gtest.h>

#include "end_to_end.hpp"

namespace weir::delivery::test {
namespace {

using wire::ByeReason;

TEST(ReceiverStop, AStopSaysFirstWhatTheSinkLetsGo) {
    Recorder recorder;
    recorder.sink.holds_not_passed_on = true;
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    auto bytes = hello_bytes("held");
    append(bytes, event_message(1, std::string((1U << 20) + 1, 'x')));
    ASSERT_TRUE(peer.send_bytes(bytes));
    ASSERT_TRUE(peer.receive_welcome());
    EXPECT_TRUE(eventually([&] { return recorder.sink.not_passed_on_count() == 1; }));
    std::thread later([&] { recorder.sink.answer_not_passed_on(); });
    EXPECT_TRUE(recorder.receiver->stop(60s));
    later.join();
    EXPECT_EQ(peer.receive(), static_cast<int>(wire::MessageType::reject));
    EXPECT_EQ(peer.receive_bye(), ByeReason::stopping);
    EXPECT_EQ(recorder.stats().held, 0U);
}

TEST(ReceiverStop, StopWaitsForAnswersThatComeAndTellsThem) {
    Recorder recorder;
    recorder.sink.answers = false;
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    peer.send_message(hello_as("last"));
    ASSERT_TRUE(peer.receive_welcome());
    peer.send_bytes(event_message(1, "e"));
    ASSERT_TRUE(eventually([&] { return recorder.sink.holding() == 1; }));
    std::jthread stopping([&] { EXPECT_TRUE(recorder.receiver->stop(60s)); });
    std::this_thread::sleep_for(5ms);
    recorder.sink.acknowledge_held();
    ASSERT_EQ(peer.receive(), static_cast<int>(wire::MessageType::ack));
    EXPECT_EQ(peer.receive_bye(), ByeReason::stopping);
    peer.close();
    stopping.join();
    EXPECT_EQ(recorder.stats().in_hand, 0U);
    EXPECT_EQ(recorder.stats().connections, 0U);
}

TEST(ReceiverStop, StopAlwaysEndsWhateverTheSinkOrThePeersDo) {
    ReceiverOptions options;
    options.farewell = 20ms;
    Recorder recorder(options);
    recorder.sink.answers = false;
    recorder.start();
    RawPeer silent(recorder.receiver->port());
    RawPeer half(recorder.receiver->port());
    half.send_message(hello_as("half"));
    half.send_bytes(ConstData(event_message(1, std::string(5000, 'x'))).first(1000));
    auto sender = Sender::open(to_recorder(recorder)).value();
    ASSERT_TRUE(sender->send(described(1), as_data("never answered")).has_value());
    ASSERT_TRUE(eventually([&] { return recorder.sink.holding() == 1; }));
    std::atomic<bool> over{false};
    std::jthread traffic([&] {
        const Piece piece{as_data("more and more"), nullptr};
        while (!over) static_cast<void>(sender->try_send(described(2), std::span(&piece, 1)));
    });
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(recorder.receiver->stop(30ms));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
    over = true;
    EXPECT_EQ(recorder.stats().connections, 0U);
    EXPECT_GE(recorder.stats().in_hand, 1U);
}

TEST(ReceiverStop, ThatWasNeverStartedStopsAtOnce) {
    Recorder recorder;
    EXPECT_TRUE(recorder.receiver->stop(60s));
}

TEST(ReceiverStop, ClosesTheSessionsOfARunOnceNothingUsesThem) {
    Recorder recorder;
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    peer.send_message(hello_as("old"));
    peer.send_bytes(event_message(1, "e"));
    ASSERT_TRUE(eventually([&] { return recorder.stats().acknowledged == 1; }));
    EXPECT_EQ(recorder.receiver->close_sessions(run), 0U);
    recorder.receiver->disconnect(run, ByeReason::run_closed, "the run has ended");
    EXPECT_EQ(peer.receive_bye(), ByeReason::run_closed);
    peer.close();
    EXPECT_TRUE(eventually([&] { return recorder.receiver->close_sessions(run) == 1; }));
    EXPECT_EQ(recorder.stats().sessions, 0U);
}

}  // namespace
}  // namespace weir::delivery::test
