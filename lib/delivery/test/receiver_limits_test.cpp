// SPDX-License-Identifier: Apache-2.0
// The receiver's limits: time, pace, connections, memory and a sink that is full. A connection that meets one
// waits or is closed; the others are not affected.
#include <gtest/gtest.h>

#include "end_to_end.hpp"
#include "weir/delivery/receiver.hpp"

namespace weir::delivery::test {
namespace {

using wire::ByeReason;

TEST(ReceiverLimits, WhoDoesNotSayHelloInTimeIsDisconnected) {
    ReceiverOptions options;
    options.header_deadline = 1500ms;  // so that a HELLO that is sent at once is in time on any machine
    Recorder recorder(options);
    recorder.start();
    RawPeer silent(recorder.receiver->port()), half(recorder.receiver->port());
    half.send_bytes(ConstData(hello_bytes("half")).first(10));
    EXPECT_EQ(silent.receive_bye(), ByeReason::too_slow);
    EXPECT_EQ(half.receive_bye(), ByeReason::too_slow);
    RawPeer idle(recorder.receiver->port());  // after HELLO, silence between messages is fine
    idle.send_message(hello_as("idle"));
    ASSERT_TRUE(idle.receive_welcome());
    EXPECT_EQ(idle.receive(1800ms), 0);
    idle.send_bytes(ConstData(event_message(1, "x")).first(20));  // but not within one
    EXPECT_EQ(idle.receive_bye(), ByeReason::too_slow);
    EXPECT_EQ(recorder.reported("in time"), 3U);
}

TEST(ReceiverLimits, APayloadThatStandsStillOrDripsIsEndedAndItsMemoryFreed) {
    ReceiverOptions options;
    options.payload_idle_max = 40ms;
    options.payload_rate_min = Bytes{100'000};
    Recorder recorder(options);
    recorder.start();
    const auto whole = event_message(1, std::string(500'000, 'x'));
    RawPeer still(recorder.receiver->port());
    still.send_message(hello_as("still"));
    still.send_bytes(std::span(whole).first(1000));
    EXPECT_EQ(still.receive_bye(), ByeReason::too_slow);

    RawPeer drip(recorder.receiver->port());
    drip.send_message(hello_as("drip"));
    ASSERT_TRUE(drip.receive_welcome());
    drip.send_bytes(std::span(whole).first(1000));
    std::jthread drips([&](const std::stop_token& stop) {
        for (std::size_t at = 1000; !stop.stop_requested() && drip.send_bytes(std::span(whole).subspan(at, 1)); ++at)
            std::this_thread::sleep_for(5ms);
    });
    EXPECT_TRUE(eventually([&] { return recorder.stats().closed[wire::index(ByeReason::too_slow)] == 2; }));
    EXPECT_TRUE(eventually([&] { return recorder.stats().partial == 2; }));  // counted a moment after the reason
    EXPECT_TRUE(eventually([&] { return recorder.pool.stats().in_use == Bytes{0}; }));
}

TEST(ReceiverLimits, HundredsOfSilentAndSlowConnectionsDoNotDelayAGoodOne) {
    ReceiverOptions options;  // so patient that the slow ones outlast the test
    options.header_deadline = options.payload_idle_max = std::chrono::minutes(10);
    Recorder recorder(options);
    recorder.start();
    std::vector<std::unique_ptr<RawPeer>> others;
    for (int i = 0; i < 300; ++i) {
        others.push_back(std::make_unique<RawPeer>(recorder.receiver->port()));
        if (i % 3 == 0) continue;  // not even HELLO
        others.back()->send_message(hello_as("slow-" + std::to_string(i)));
        if (i % 3 == 1) others.back()->send_bytes(ConstData(event_message(1, std::string(10'000, 'x'))).first(500));
    }
    auto sender = Sender::open(to_recorder(recorder)).value();
    const std::string payload(100'000, 'x');
    for (std::uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(sender->send(described(i), as_data(payload)).has_value());
    EXPECT_TRUE(sender->flush(std::chrono::minutes(1)).value());
    EXPECT_EQ(recorder.stats().connections, 301U);
}

TEST(ReceiverLimits, LargeEventsThatComeSlowlyLeaveMemoryToOrdinaryOnes) {
    ReceiverOptions options;  // so patient that the slow ones outlast the test
    options.header_deadline = options.payload_idle_max = std::chrono::minutes(10);
    options.threads = 1;
    options.event_size_max = Bytes{300'000};
    Recorder recorder(options, Bytes{1'000'000});
    recorder.start();
    std::vector<std::unique_ptr<RawPeer>> slow;
    for (int i = 0; i < 8; ++i) {
        slow.push_back(std::make_unique<RawPeer>(recorder.receiver->port()));
        slow.back()->send_message(hello_as("slow-" + std::to_string(i)));
        slow.back()->send_bytes(ConstData(event_message(1, std::string(250'000, 'x'))).first(500));
    }
    ASSERT_TRUE(eventually([&] { return recorder.stats().waits_for_memory >= 5; }));
    auto sender = Sender::open(to_recorder(recorder)).value();
    const std::string payload(10'000, 'x');
    for (std::uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(sender->send(described(i), as_data(payload)).has_value());
    EXPECT_TRUE(sender->flush(std::chrono::minutes(1)).value());
}

TEST(ReceiverLimits, AThousandSendersAreServed) {
    Recorder recorder;
    recorder.start();
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (int i = 0; i < 1000; ++i) {
        peers.push_back(std::make_unique<RawPeer>(recorder.receiver->port()));
        auto bytes = hello_bytes("s" + std::to_string(i));
        append(bytes, event_message(1, "one"));
        append(bytes, event_message(2, "two"));
        ASSERT_TRUE(peers.back()->send_bytes(bytes));
    }
    EXPECT_TRUE(eventually([&] { return recorder.stats().acknowledged == 2000; }));
    EXPECT_EQ(recorder.stats().connections, 1000U);
    for (auto& peer : peers) ASSERT_TRUE(peer->receive_welcome());
}

TEST(ReceiverLimits, ASessionWithoutAnyEventTakesUpNoPlaceWhenItsConnectionIsGone) {
    ReceiverOptions options;
    options.sessions_max = 3;
    Recorder recorder(options);
    recorder.start();
    const auto sessions = [&] { return recorder.stats().sessions; };
    {
        RawPeer with_event(recorder.receiver->port());
        auto bytes = hello_bytes("with-event");
        append(bytes, event_message(1, "one"));
        ASSERT_TRUE(with_event.send_bytes(bytes));
        ASSERT_TRUE(eventually([&] { return recorder.stats().acknowledged == 1; }));
    }
    for (std::uint64_t i = 0; i < 20; ++i) {
        RawPeer peer(recorder.receiver->port());
        // Some claim that they had events and hold them no more; no event of them was seen.
        peer.send_message(hello_as("hello-" + std::to_string(i), Sequence{1 + i % 2 * 1000}));
        ASSERT_TRUE(peer.receive_welcome()) << i;
        peer.close();
        ASSERT_TRUE(eventually([&] { return sessions() == 1; })) << i;
    }
    // One that comes again while its old connection is open, and one that has had an event, stay what they are.
    RawPeer older(recorder.receiver->port());
    older.send_message(hello_as("again"));
    ASSERT_TRUE(older.receive_welcome());
    RawPeer newer(recorder.receiver->port());
    newer.send_message(hello_as("again"));
    ASSERT_TRUE(newer.receive_welcome());
    EXPECT_EQ(older.receive_bye(), ByeReason::replaced);
    older.close();
    ASSERT_TRUE(eventually([&] { return recorder.stats().connections == 1; }));
    ASSERT_TRUE(newer.send_bytes(event_message(1, "one")));
    ASSERT_TRUE(eventually([&] { return recorder.stats().acknowledged == 2; }));
    newer.close();
    ASSERT_TRUE(eventually([&] { return recorder.stats().connections == 0; }));
    EXPECT_EQ(sessions(), 2U);
    RawPeer back(recorder.receiver->port());
    back.send_message(hello_as("with-event"));
    ASSERT_TRUE(back.receive_welcome());
    EXPECT_TRUE(wire::decode_welcome(back.meta).value().durable.contains(Sequence{1}));
    EXPECT_EQ(recorder.reported("was refused"), 0U);
}

TEST(ReceiverLimits, OverItsLimitOfConnectionsRefusesWithAReason) {
    ReceiverOptions options;
    options.connections_max = 2;
    Recorder recorder(options);
    recorder.start();
    RawPeer a(recorder.receiver->port()), b(recorder.receiver->port());
    a.send_message(hello_as("a"));
    b.send_message(hello_as("b"));
    ASSERT_TRUE(a.receive_welcome() && b.receive_welcome());
    RawPeer c(recorder.receiver->port());
    EXPECT_EQ(c.receive_bye(), ByeReason::too_many_connections);
    c.close();
    a.close();
    ASSERT_TRUE(eventually([&] { return recorder.stats().connections == 1; }));
    RawPeer d(recorder.receiver->port());
    d.send_message(hello_as("d"));
    EXPECT_TRUE(d.receive_welcome());
}

TEST(ReceiverLimits, WhenThePoolIsFullConnectionsWaitAndGoOnWhenMemoryComesBack) {
    ReceiverOptions options;
    options.event_size_max = Bytes{100'000};
    Recorder recorder(options, Bytes{300'000});
    recorder.sink.answers = false;
    recorder.start();
    std::vector<std::unique_ptr<Sender>> senders;
    const std::string payload(90'000, 'm');
    for (int s = 0; s < 6; ++s) {
        senders.push_back(Sender::open(to_recorder(recorder, "sender-" + std::to_string(s))).value());
        for (std::uint64_t i = 1; i <= 3; ++i)
            ASSERT_TRUE(senders.back()->send(described(i), as_data(payload)).has_value());
    }
    ASSERT_TRUE(eventually([&] { return recorder.stats().waits_for_memory >= 3; }));
    EXPECT_LE(recorder.pool.stats().in_use, Bytes{300'000});
    for (auto& sender : senders) {
        while (!sender->flush(1ms).value()) recorder.sink.acknowledge_held();
    }
    EXPECT_EQ(recorder.stats().acknowledged, 18U);
    EXPECT_TRUE(recorder.sink.each_once());
}

TEST(ReceiverLimits, WhenTheSinkIsFullEventsWaitAreCountedAndGoOnAtRetry) {
    Recorder recorder;
    recorder.sink.full = true;
    recorder.start();
    std::vector<std::unique_ptr<Sender>> senders;
    for (int s = 0; s < 5; ++s) {
        senders.push_back(Sender::open(to_recorder(recorder, "sender-" + std::to_string(s))).value());
        for (std::uint64_t i = 1; i <= 10; ++i)
            ASSERT_TRUE(senders.back()->send(described(i), as_data("e")).has_value());
    }
    ASSERT_TRUE(eventually([&] { return recorder.stats().waiting == 5; }));
    EXPECT_EQ(recorder.stats().bytes, 0U);
    EXPECT_EQ(recorder.stats().waits_for_sink, 5U);
    recorder.receiver->retry();  // still full: each has tried once more
    ASSERT_TRUE(eventually([&] { return recorder.stats().waits_for_sink == 10; }));
    EXPECT_EQ(recorder.stats().waiting, 5U);
    recorder.sink.set_full(false);
    recorder.receiver->retry();
    for (auto& sender : senders) EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_EQ(recorder.stats().acknowledged, 50U);
    EXPECT_EQ(recorder.stats().bytes, 50U);
    EXPECT_TRUE(recorder.sink.each_once());
}

TEST(ReceiverLimits, AnEventThatWaitsWhenItsConnectionEndsIsTakenFromTheNextOne) {
    Recorder recorder;
    recorder.sink.full = true;
    recorder.start();
    auto sender = Sender::open(to_recorder(recorder)).value();
    ASSERT_TRUE(sender->send(described(1), as_data("e")).has_value());
    ASSERT_TRUE(eventually([&] { return recorder.stats().waiting == 1; }));
    recorder.receiver->disconnect(run, ByeReason::too_slow, "a test");
    ASSERT_TRUE(eventually([&] { return recorder.stats().discarded == 1; }));
    recorder.sink.set_full(false);
    recorder.receiver->retry();
    EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_EQ(recorder.stats().passed_on, 1U);
}

}  // namespace
}  // namespace weir::delivery::test
