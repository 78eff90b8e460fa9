// SPDX-License-Identifier: Apache-2.0
// Sender and receiver together, over real sockets.
#include <gtest/gtest.h>

#include <atomic>

#include "end_to_end.hpp"

namespace weir::delivery::test {
namespace {

TEST(Delivery, EveryEventArrivesOnceInOrderAndIsAnswered) {
    Recorder recorder;
    recorder.start();
    auto sender = Sender::open(to_recorder(recorder)).value();
    for (std::uint64_t i = 1; i <= 200; ++i) {
        auto event = described(i);
        event.level1_id = Level1Id{static_cast<std::uint32_t>(i)};
        const auto sequence = sender->send(event, as_data("payload " + std::to_string(i)));
        ASSERT_TRUE(sequence.has_value());
        EXPECT_EQ(number(*sequence), i);
    }
    EXPECT_TRUE(sender->flush(60s).value());
    ASSERT_EQ(recorder.sink.payloads.size(), 200U);
    for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(recorder.sink.payloads[i], "payload " + std::to_string(i + 1));
    EXPECT_EQ(recorder.sink.last_meta.global_id, GlobalEventId{200});
    EXPECT_EQ(recorder.sink.last_meta.level1_id, Level1Id{200});
    const auto stats = sender->stats();
    EXPECT_EQ(stats.accepted, 200U);
    EXPECT_EQ(stats.acknowledged, 200U);
    EXPECT_EQ(stats.held, 0U);
    EXPECT_EQ(stats.bytes_held, 0U);
    EXPECT_EQ(stats.resent, 0U);
    EXPECT_EQ(recorder.stats().acknowledged, 200U);
    EXPECT_EQ(recorder.stats().copies, 200U);
}

TEST(Delivery, APayloadInPiecesIsSentWithoutACopyAndReleasedWhenFinal) {
    Recorder recorder;
    recorder.start();
    std::atomic<int> released{0};
    auto sender = Sender::open(to_recorder(recorder)).value();
    const std::string a(300'000, 'a'), b(1, 'b'), c(400'000, 'c');
    std::vector<Piece> pieces;
    for (const auto* text : {&a, &b, &c})
        pieces.push_back(
            {as_data(*text), std::shared_ptr<const void>(text->data(), [&released](const void*) { ++released; })});
    ASSERT_TRUE(sender->send(described(1), pieces).has_value());
    pieces.clear();
    EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_TRUE(eventually([&] { return released == 3; }));
    EXPECT_EQ(recorder.sink.payloads.at(0), a + b + c);
}

TEST(Delivery, ARejectedEventIsFinalWithItsReason) {
    Recorder recorder;
    recorder.sink.reject_all = true;
    recorder.start();
    std::mutex mutex;
    std::vector<std::pair<Sequence, std::optional<wire::RejectReason>>> finals;
    auto options = to_recorder(recorder);
    options.on_final = [&](Sequence sequence, std::optional<wire::RejectReason> reason) {
        const std::scoped_lock lock(mutex);
        finals.emplace_back(sequence, reason);
    };
    auto sender = Sender::open(options).value();
    ASSERT_TRUE(sender->send(described(1), as_data("x")).has_value());
    EXPECT_TRUE(sender->flush(60s).value());
    sender->close();
    ASSERT_EQ(finals.size(), 1U);
    EXPECT_EQ(finals[0].first, Sequence{1});
    EXPECT_EQ(finals[0].second, wire::RejectReason::streams_exceeded);
    EXPECT_EQ(sender->stats().rejected[wire::index(wire::RejectReason::streams_exceeded)], 1U);
    EXPECT_EQ(recorder.stats().rejected_by_sink[wire::index(wire::RejectReason::streams_exceeded)], 1U);
}

TEST(Delivery, FlushReturnsAfterTheLastCallOfOnFinal) {
    Recorder recorder;
    recorder.start();
    std::atomic<int> finals{0};
    auto options = to_recorder(recorder);
    options.on_final = [&](Sequence, std::optional<wire::RejectReason>) {
        std::this_thread::sleep_for(1ms);  // a slow owner
        ++finals;
    };
    const auto sender = Sender::open(options).value();
    for (int sent = 1; sent <= 60; ++sent) {
        ASSERT_TRUE(sender->send(described(static_cast<std::uint64_t>(sent)), as_data("x")).has_value());
        ASSERT_TRUE(sender->flush(60s).value());
        ASSERT_EQ(finals, sent);
    }
}

TEST(Delivery, CloseReleasesWhatIsNotFinal) {
    Recorder recorder;
    recorder.sink.answers = false;
    recorder.start();
    const auto sender = Sender::open(to_recorder(recorder)).value();
    const auto owner = std::make_shared<std::string>("payload");
    const std::weak_ptr<std::string> watched = owner;
    {
        const Piece piece{as_data(*owner), owner};
        for (std::uint64_t id = 1; id <= 3; ++id)
            ASSERT_TRUE(sender->send(described(id), std::span(&piece, 1)).has_value());
    }
    ASSERT_TRUE(eventually([&] { return recorder.sink.holding() == 3; }));
    EXPECT_EQ(owner.use_count(), 4);
    sender->close();
    EXPECT_EQ(owner.use_count(), 1);
    const auto stats = sender->stats();
    EXPECT_EQ(stats.released, 3U);
    EXPECT_EQ(stats.accepted, stats.acknowledged + sum(stats.rejected) + stats.held + stats.withdrawn + stats.released);
    EXPECT_FALSE(sender->flush(0ms).has_value()) << "what became of them is not known";
    EXPECT_TRUE(sender->withdraw().empty());
}

TEST(Delivery, ASenderThatNamesNoRunJoinsTheOneThatIsRecorded) {
    Recorder recorder;
    recorder.start();
    auto options = to_recorder(recorder);
    options.run = RunNumber{};
    options.join_run = true;
    const auto sender = Sender::open(options).value();
    EXPECT_EQ(sender->run(60s).value(), run);
    ASSERT_TRUE(sender->send(described(1), as_data("x")).has_value());
    EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_EQ(sender->session().run, run);
    options.first_sequence = Sequence{2};
    options.incarnation = 7;
    EXPECT_EQ(Sender::open(options).error().code, Errc::usage);
}

/// A recorder that takes connections and sends WELCOME, and then nothing more.
TEST(Delivery, AConnectionToASilentRecorderIsClosedAndOpenedAgain) {
    auto listener = transport::Listener::open({"127.0.0.1", 0}).value();
    SenderOptions options;
    options.host = "127.0.0.1:" + std::to_string(listener.port());
    options.run = run;
    options.backoff_first = options.backoff_last = 2ms;
    std::vector<std::byte> welcome;
    wire::encode(wire::Welcome{.credit = 1U << 20, .event_size_max = 1U << 20, .run = run, .heartbeat_ms = 20},
                 welcome);
    const auto sender = Sender::open(options).value();
    std::vector<transport::Socket> connections;
    ASSERT_TRUE(eventually([&] {
        auto socket = listener.accept();
        if (socket && *socket) {
            connections.push_back(std::move(**socket));
            EXPECT_TRUE(connections.back().write(welcome).has_value());
        }
        return connections.size() >= 3;
    }));
    EXPECT_NE(sender->stats().last_problem.find("sent nothing for"), std::string::npos) << sender->stats().last_problem;
}

TEST(Delivery, ARecorderSaysThatItIsThereAndEndsTheConnectionOfASenderThatDoesNot) {
    ReceiverOptions receiver_options;
    receiver_options.heartbeat = 100ms;
    Recorder recorder(receiver_options);
    recorder.start();
    RawPeer silent(recorder.receiver->port());
    ASSERT_TRUE(silent.send_message(hello_as("silent")));
    ASSERT_TRUE(silent.receive_welcome());
    const auto welcome = wire::decode_welcome(silent.meta).value();
    EXPECT_EQ(welcome.heartbeat_ms, 100U);
    EXPECT_EQ(welcome.run, run);
    silent.wants_alive = true;
    EXPECT_EQ(silent.receive(), static_cast<int>(wire::MessageType::alive));
    EXPECT_EQ(silent.receive_bye(), wire::ByeReason::too_slow);
}

TEST(Delivery, WithoutAHeartbeatBothSidesMayBeSilent) {
    ReceiverOptions receiver_options;
    receiver_options.heartbeat = 0ms;
    Recorder recorder(receiver_options);
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    ASSERT_TRUE(peer.send_message(hello_as("silent")));
    ASSERT_TRUE(peer.receive_welcome());
    EXPECT_EQ(wire::decode_welcome(peer.meta).value().heartbeat_ms, 0U);
    peer.wants_alive = true;
    EXPECT_EQ(peer.receive(300ms), 0);
    ASSERT_TRUE(peer.send_bytes(event_message(1, "still there")));
    EXPECT_EQ(peer.receive(), static_cast<int>(wire::MessageType::ack));
}

TEST(Delivery, ASenderOfAVersionThatIsNotUnderstoodIsRefused) {
    Recorder recorder;
    recorder.start();
    for (const auto version : {std::uint16_t{0}, std::uint16_t{1}}) {
        RawPeer peer(recorder.receiver->port());
        auto hello = hello_as("old");
        hello.protocol = version;
        ASSERT_TRUE(peer.send_message(hello));
        EXPECT_EQ(peer.receive(), static_cast<int>(wire::MessageType::bye));
        const auto bye = wire::decode_bye(peer.meta).value();
        EXPECT_EQ(bye.reason, wire::ByeReason::unsupported_version);
        EXPECT_NE(bye.text.find("2 is the lowest"), std::string::npos) << bye.text;
    }
    RawPeer later(recorder.receiver->port());
    auto hello = hello_as("later");
    hello.protocol = 100;
    ASSERT_TRUE(later.send_message(hello));
    ASSERT_TRUE(later.receive_welcome());
    EXPECT_EQ(wire::decode_welcome(later.meta).value().protocol, wire::protocol_version);
}

TEST(Delivery, AFullWindowHoldsTheSenderBackAndClosingFreesIt) {
    Recorder recorder;
    recorder.sink.answers = false;
    recorder.start();
    auto options = to_recorder(recorder);
    options.window_events = 3;
    auto sender = Sender::open(options).value();
    const Piece piece{as_data("x"), nullptr};
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(sender->try_send(described(1), std::span(&piece, 1)).value().has_value());
    EXPECT_FALSE(sender->try_send(described(1), std::span(&piece, 1)).value().has_value());
    EXPECT_FALSE(sender->flush(5ms).value());
    std::atomic<int> outcome{0};
    {
        std::jthread blocked([&] { outcome = sender->send(described(4), as_data("x")).has_value() ? 1 : 2; });
        ASSERT_TRUE(eventually([&] { return recorder.sink.holding() == 3; }));
        EXPECT_EQ(outcome, 0);
        recorder.sink.acknowledge_held();
        EXPECT_TRUE(eventually([&] { return outcome == 1; }));
        ASSERT_TRUE(eventually([&] { return sender->stats().acknowledged == 3; }));  // the answers may come one by one
    }
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(sender->try_send(described(1), std::span(&piece, 1)).value().has_value());
    outcome = 0;
    std::jthread blocked([&] { outcome = sender->send(described(4), as_data("x")).has_value() ? 1 : 2; });
    std::this_thread::sleep_for(5ms);
    sender->close();
    EXPECT_TRUE(eventually([&] { return outcome == 2; }));
}

TEST(Delivery, CreditThatRunsOutHoldsTheSenderBackAndComesBackWithTheMemory) {
    ReceiverOptions options;
    options.event_size_max = Bytes{64 * 1024};
    options.credit_max = Bytes{1};  // so the smallest window: two of the largest messages
    Recorder recorder(options);
    recorder.sink.answers = false;
    recorder.start();
    auto sender = Sender::open(to_recorder(recorder)).value();
    const std::string payload(60'000, 'p');
    for (std::uint64_t i = 1; i <= 50; ++i) ASSERT_TRUE(sender->send(described(i), as_data(payload)).has_value());
    ASSERT_TRUE(eventually([&] { return recorder.sink.holding() >= 4; }));
    std::this_thread::sleep_for(20ms);
    EXPECT_LE(recorder.sink.holding(), 4U);  // 4 * 60 kB < 2 * (64 KiB + 64 KiB) < 5 * 60 kB
    while (!sender->flush(1ms).value()) recorder.sink.acknowledge_held();
    EXPECT_EQ(recorder.stats().acknowledged, 50U);
}

TEST(Delivery, AnEventLargerThanTheRecorderTakesIsRefusedOrFinalNeverStuck) {
    ReceiverOptions options;
    options.event_size_max = Bytes{1000};
    Recorder recorder(options);
    recorder.start();
    auto sender = Sender::open(to_recorder(recorder)).value();
    const std::string large(1001, 'l');
    const auto early = sender->send(described(1), as_data(large));  // perhaps before WELCOME: then accepted
    ASSERT_TRUE(sender->send(described(2), as_data("small")).has_value());
    EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_EQ(sender->stats().rejected[wire::index(wire::RejectReason::too_large)], early ? 1U : 0U);
    const auto late = sender->send(described(3), as_data(large));
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().code, Errc::limit);
    ASSERT_TRUE(sender->send(described(4), as_data("small")).has_value());
    EXPECT_TRUE(sender->flush(60s).value());
}

TEST(Delivery, AnIncarnationThatWasUsedBeforeIsRefusedInsteadOfLosingEvents) {
    Recorder recorder;
    wire::SequenceSet durable;
    durable.insert({Sequence{1}, Sequence{10}});
    static_cast<void>(recorder.receiver->restore({"sender-1", 77, 0, run}, durable));
    recorder.start();
    auto options = to_recorder(recorder);
    options.incarnation = 77;
    auto sender = Sender::open(options).value();
    // WELCOME may come before the event: then send() fails, and there is nothing to flush.
    const auto sent = sender->send(described(1), as_data("new"));
    const auto flushed = sender->flush(60s);
    ASSERT_FALSE(sent.has_value() && flushed.has_value());
    const auto& error = sent ? flushed.error() : sent.error();
    EXPECT_NE(error.message().find("choose a new incarnation"), std::string::npos) << error.message();
    options.first_sequence = Sequence{11};  // one that really continues
    auto continuing = Sender::open(options).value();
    ASSERT_TRUE(continuing->send(described(1), as_data("new")).has_value());
    EXPECT_TRUE(continuing->flush(60s).value());
}

TEST(Delivery, AfterARestartOfTheRecorderOnlyWhatIsNotDurableIsTaken) {
    const auto port = transport::ReservedPort::take({"127.0.0.1", 0}).value();
    auto first = recorder_at(port);
    first->sink.answers = false;
    first->start();
    auto sender_options = to_recorder(*first);
    auto sender = Sender::open(sender_options).value();
    for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_TRUE(sender->send(described(i), as_data("e")).has_value());
    ASSERT_TRUE(eventually([&] { return first->sink.holding() == 10; }));
    first.reset();  // it dies with everything unanswered; sequences 1 to 6 had reached the disk

    const auto second = recorder_at(port);
    wire::SequenceSet durable;
    durable.insert({Sequence{1}, Sequence{6}});
    const auto session = second->receiver->restore(sender->session(), durable);
    second->start();
    EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_EQ(second->sink.taken(), 4U);
    EXPECT_EQ(second->receiver->final_sequences(session).cumulative(), Sequence{10});
    EXPECT_EQ(second->receiver->session_key(session), sender->session());
}

TEST(Delivery, ManySendersAtOnceEachOnceAndBalanced) {
    Recorder recorder;
    recorder.start();
    constexpr int senders = 8, events = 200;
    std::vector<std::jthread> threads;
    for (int s = 0; s < senders; ++s) {
        threads.emplace_back([&recorder, s] {
            auto sender = Sender::open(to_recorder(recorder, "sender-" + std::to_string(s))).value();
            for (std::uint64_t i = 0; i < events; ++i)
                ASSERT_TRUE(sender->send(described(i), as_data(std::string(1 + i * 37 % 5000, 'x'))).has_value());
            EXPECT_TRUE(sender->flush(100s).value());
        });
    }
    while (recorder.stats().acknowledged < senders * events) std::this_thread::sleep_for(1ms);
    threads.clear();
    EXPECT_TRUE(recorder.sink.each_once());
    EXPECT_EQ(recorder.sink.taken(), static_cast<std::size_t>(senders * events));
    EXPECT_EQ(recorder.stats().sessions, static_cast<std::uint64_t>(senders));
}

TEST(Sender, OptionsThatCannotWorkAreRefusedAtOnce) {
    const auto code_of = [](auto change) {
        SenderOptions options;
        change(options);
        const auto sender = Sender::open(options);
        return sender ? std::optional<Errc>{} : std::optional(sender.error().code);
    };
    EXPECT_EQ(code_of([](auto& o) { o.host = "nowhere"; }), Errc::usage);
    EXPECT_EQ(code_of([](auto& o) { o.host = "localhost:0"; }), Errc::usage);
    EXPECT_EQ(code_of([](auto& o) { o.name = "a/b"; }), Errc::usage);
    EXPECT_EQ(code_of([](auto& o) { o.window = Bytes{0}; }), Errc::usage);
    EXPECT_EQ(code_of([](auto& o) { o.first_sequence = Sequence{5}; }), Errc::usage);
    EXPECT_EQ(code_of([](auto& o) { o.backoff_first = 0ms; }), Errc::usage);
}

TEST(Sender, EventsThatCannotBeSentAreRefusedAtOnce) {
    Recorder recorder;
    recorder.start();
    auto sender = Sender::open(to_recorder(recorder)).value();
    EXPECT_EQ(sender->send(described(1), ConstData{}).error().code, Errc::usage);
    auto event = described(1);
    event.tags[0].name = "../etc";
    EXPECT_EQ(sender->send(event, as_data("x")).error().code, Errc::usage);
    event = described(1);
    event.tags.assign(65, event.tags[0]);
    EXPECT_EQ(sender->send(event, as_data("x")).error().code, Errc::limit);
    EXPECT_EQ(sender->stats().accepted, 0U);
}

}  // namespace
}  // namespace weir::delivery::test
