// SPDX-License-Identifier: Apache-2.0
// The receiver against peers that are broken, hostile or gone.
#include "weir/delivery/receiver.hpp"

#include <gtest/gtest.h>

#include <random>

#include "end_to_end.hpp"
#include "weir/base/testing/number_in_environment.hpp"

namespace weir::delivery::test {
namespace {

using wire::ByeReason;
using wire::RejectReason;

TEST(Receiver, AStreamCutAtAnyByteCountsExactlyTheEventsBeforeTheCut) {
    Recorder recorder;
    recorder.start();
    std::vector<std::size_t> event_ends;
    auto stream = hello_bytes("whole");
    for (std::uint64_t i = 1; i <= 3; ++i) {
        append(stream, event_message(i, "payload of some bytes"));
        event_ends.push_back(stream.size());
    }
    std::uint64_t expected = 0;
    for (std::size_t size = 0; size <= stream.size(); ++size) {
        auto bytes = hello_bytes(std::to_string(10'000 + size));  // another session for each cut, of the same length
        for (std::uint64_t i = 1; i <= 3; ++i) append(bytes, event_message(i, "payload of some bytes"));
        ASSERT_EQ(bytes.size(), stream.size());
        RawPeer peer(recorder.receiver->port());
        ASSERT_TRUE(peer.send_bytes(std::span(bytes).first(size)));
        peer.close();
        expected +=
            static_cast<std::uint64_t>(std::ranges::count_if(event_ends, [size](auto end) { return end <= size; }));
    }
    EXPECT_TRUE(eventually([&] { return recorder.stats().connections == 0; }));
    EXPECT_TRUE(eventually([&] { return recorder.stats().received == expected; }))
        << recorder.stats().received << " of " << expected;
    EXPECT_TRUE(
        eventually([&] { return recorder.stats().acknowledged == expected; }));  // a moment after it was received
    EXPECT_GT(recorder.stats().partial, 0U);
    EXPECT_EQ(recorder.reported("was disconnected"), 0U);
}

TEST(Receiver, TheAnswersToADuplicateAndToWhatIsTooLargeWaitForTheSink) {
    Recorder recorder;
    recorder.sink.holds_not_passed_on = true;
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    auto bytes = hello_bytes("held");
    append(bytes, event_message(1, "stored"));
    append(bytes, event_message(1, "stored"));
    append(bytes, event_message(2, std::string((1U << 20) + 1, 'x')));
    append(bytes, event_message(3, "stored"));
    ASSERT_TRUE(peer.send_bytes(bytes));
    ASSERT_TRUE(peer.receive_welcome());
    EXPECT_TRUE(
        eventually([&] { return recorder.stats().acknowledged == 2 && recorder.sink.not_passed_on_count() == 2; }));
    EXPECT_EQ(recorder.stats().held, 2U);
    EXPECT_FALSE(recorder.receiver->stop(0ms)) << "two answers wait";
}

TEST(Receiver, EveryKindOfMalformedMessageClosesTheConnectionWithAReason) {
    Recorder recorder;
    recorder.start();
    struct Case {
        const char* what;
        std::vector<std::byte> bytes;
        ByeReason reason;
    };
    auto large_meta = hello_bytes("x");
    large_meta[8] = std::byte{0xff}, large_meta[9] = std::byte{0xff}, large_meta[10] = std::byte{0xff},
    large_meta[11] = std::byte{0xff};
    auto large_payload = event_message(1, "x");
    large_payload[19] = std::byte{0xff};
    auto version = hello_bytes("x");
    version[4] = std::byte{9};
    auto flipped = hello_bytes("x");
    flipped.back() ^= std::byte{1};
    auto with_hello = [](std::vector<std::byte> rest) {
        auto bytes = hello_bytes("y");
        append(bytes, rest);
        return bytes;
    };
    std::vector<std::byte> no_payload;
    wire::EventMeta meta;
    meta.sequence = Sequence{1};
    encode(meta, 0, no_payload);
    std::vector<std::byte> foreign_type(wire::frame_header_size);
    wire::encode_header(foreign_type, static_cast<wire::MessageType>(77), 0, {}, 0);
    std::vector<std::byte> short_meta(wire::frame_header_size + 3);
    wire::encode_header(short_meta, wire::MessageType::hello, 0, std::span(short_meta).subspan(24), 0);
    std::vector<std::byte> ack;
    encode(wire::Ack{}, ack);
    const auto text = as_data("GET / HTTP/1.1\r\nHost: recorder\r\n\r\n");
    const std::vector<Case> cases{{"another protocol", {text.begin(), text.end()}, ByeReason::malformed},
                                  {"meta length 2^32-1", large_meta, ByeReason::malformed},
                                  {"payload length over the limit", with_hello(large_payload), ByeReason::malformed},
                                  {"unknown version", version, ByeReason::unsupported_version},
                                  {"a flipped bit", flipped, ByeReason::malformed},
                                  {"an event before hello", event_message(1, "x"), ByeReason::malformed},
                                  {"hello twice", with_hello(hello_bytes("y")), ByeReason::malformed},
                                  {"payload length 0", with_hello(no_payload), ByeReason::malformed},
                                  {"unknown type", foreign_type, ByeReason::malformed},
                                  {"a meta shorter than its fields", short_meta, ByeReason::malformed},
                                  {"a message of the other side", with_hello(ack), ByeReason::malformed}};
    for (const auto& [what, bytes, reason] : cases) {
        RawPeer peer(recorder.receiver->port());
        ASSERT_TRUE(peer.send_bytes(bytes)) << what;
        EXPECT_EQ(peer.receive_bye(), reason) << what;
    }
    EXPECT_EQ(recorder.reported("was disconnected"), cases.size());
    EXPECT_EQ(sum(recorder.stats().closed), cases.size());
    EXPECT_EQ(recorder.pool.stats().taken, 0U);  // no memory was taken for any of the lengths
    for (const auto& report : recorder.reports)
        EXPECT_NE(text_of(report).find("127.0.0.1:"), std::string::npos) << text_of(report);
}

TEST(Receiver, GarbageNeverHarmsAGoodSender) {
    Recorder recorder;
    recorder.start();
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937_64 random(seed);
    auto sender = Sender::open(to_recorder(recorder)).value();
    const auto good = hello_bytes("garbage");
    for (int round = 0; round < 60; ++round) {
        auto bytes = good;
        append(bytes, event_message(1, std::string(random() % 300 + 1, 'x')));
        for (auto flips = random() % 6; flips > 0; --flips)
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        RawPeer peer(recorder.receiver->port());
        static_cast<void>(peer.send_bytes(bytes));
        ASSERT_TRUE(sender->send(described(1), as_data("good")).has_value());
    }
    EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_EQ(sender->stats().acknowledged, 60U);
    EXPECT_EQ(sender->stats().reconnects, 0U);
}

TEST(Receiver, AnUnknownMessageThatIsOptionalIsSkippedWithItsPayload) {
    Recorder recorder;
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    auto bytes = hello_bytes("newer");
    std::vector<std::byte> newer(wire::frame_header_size);
    wire::encode_header(newer, static_cast<wire::MessageType>(40), wire::flag_optional, {}, 1000);
    newer.resize(newer.size() + 1000);
    append(bytes, newer);
    append(bytes, event_message(1, "after"));
    ASSERT_TRUE(peer.send_bytes(bytes));
    ASSERT_TRUE(eventually([&] { return recorder.sink.taken() == 1; }));
    EXPECT_EQ(recorder.sink.payloads[0], "after");
    EXPECT_EQ(recorder.stats().received, 1U);
}

TEST(Receiver, AWrongPayloadChecksumRejectsThatEventAndTheConnectionLivesOn) {
    Recorder recorder;
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    peer.send_message(hello_as("flip"));
    ASSERT_TRUE(peer.receive_welcome());
    auto damaged = event_message(1, "some payload");
    damaged.back() ^= std::byte{4};
    append(damaged, event_message(2, "fine"));
    peer.send_bytes(damaged);
    ASSERT_EQ(peer.receive(), static_cast<int>(wire::MessageType::reject));
    EXPECT_EQ(wire::decode_reject(peer.meta).value().reason, RejectReason::corrupt_payload);
    ASSERT_TRUE(eventually([&] { return recorder.stats().acknowledged == 1; }));
    EXPECT_EQ(recorder.stats().rejected_here[wire::index(RejectReason::corrupt_payload)], 1U);
    EXPECT_EQ(recorder.reported("has crc32c"), 1U);
    EXPECT_EQ(recorder.sink.payloads.at(0), "fine");
}

TEST(Receiver, EventsThatAreTooLargeOrBadlyTaggedAreRejectedBySequence) {
    ReceiverOptions options;
    options.event_size_max = Bytes{1000};
    Recorder recorder(options);
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    peer.send_message(hello_as("odd"));
    ASSERT_TRUE(peer.receive_welcome());
    EXPECT_EQ(wire::decode_welcome(peer.meta).value().event_size_max, 1000U);
    auto bytes = event_message(1, std::string(1001, 'x'));
    wire::EventMeta bad;
    bad.sequence = Sequence{2};
    bad.payload_crc = checksum::crc32c(as_data("p"));
    bad.tags = {{"physics", "../../etc", true, {}, {}}};
    encode(bad, 1, bytes);
    bytes.push_back(std::byte{'p'});
    append(bytes, event_message(3, "fine"));
    peer.send_bytes(bytes);
    for (const auto& [sequence, reason] :
         {std::pair{1, RejectReason::too_large}, std::pair{2, RejectReason::bad_tag}}) {
        ASSERT_EQ(peer.receive(), static_cast<int>(wire::MessageType::reject));
        const auto reject = wire::decode_reject(peer.meta).value();
        EXPECT_EQ(number(reject.sequence), static_cast<std::uint64_t>(sequence));
        EXPECT_EQ(reject.reason, reason);
    }
    ASSERT_EQ(peer.receive(), static_cast<int>(wire::MessageType::ack));
    EXPECT_EQ(wire::decode_ack(peer.meta).value().cumulative, Sequence{3});
    EXPECT_EQ(recorder.sink.taken(), 1U);
}

TEST(Receiver, RepeatedEventsAreDroppedCountedAndAnsweredAgain) {
    Recorder recorder;
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    peer.send_message(hello_as("again"));
    ASSERT_TRUE(peer.receive_welcome());
    for (int i = 0; i < 3; ++i) {
        peer.send_bytes(event_message(1, "same"));
        ASSERT_EQ(peer.receive(), static_cast<int>(wire::MessageType::ack));
        EXPECT_EQ(wire::decode_ack(peer.meta).value().cumulative, Sequence{1});
    }
    EXPECT_EQ(recorder.stats().duplicates, 2U);
    EXPECT_EQ(recorder.sink.taken(), 1U);
}

TEST(Receiver, AJumpInTheSequencesIsTakenCountedAndReported) {
    Recorder recorder;
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    peer.send_message(hello_as("jump"));
    for (const std::uint64_t sequence : {1U, 2U, 5U, 6U, 10U}) peer.send_bytes(event_message(sequence, "e"));
    ASSERT_TRUE(eventually([&] { return recorder.stats().acknowledged == 5; }));
    EXPECT_EQ(recorder.stats().gaps, 5U);  // 3, 4, 7, 8, 9
    EXPECT_EQ(recorder.reported("ALARM sequence gap"), 2U);
}

TEST(Receiver, SequencesTooScatteredEndTheConnectionInsteadOfTakingMemory) {
    ReceiverOptions options;
    options.session_intervals_max = 10;
    Recorder recorder(options);
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    std::vector<std::byte> bytes = hello_bytes("scattered");
    for (std::uint64_t i = 1; i < 60; i += 2) append(bytes, event_message(i, "e"));
    peer.send_bytes(bytes);
    EXPECT_EQ(peer.receive_bye(), ByeReason::limit);
    EXPECT_LE(recorder.stats().received, 10U);
}

TEST(Receiver, MoreBytesThanCreditIsMalformed) {
    ReceiverOptions options;
    options.event_size_max = Bytes{16 * 1024};
    options.credit_max = Bytes{1};
    Recorder recorder(options);
    recorder.sink.answers = false;  // memory is kept, so no credit comes back
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    peer.send_message(hello_as("greedy"));
    ASSERT_TRUE(peer.receive_welcome());
    const auto credit = wire::decode_welcome(peer.meta).value().credit;
    const std::string payload(16'000, 'x');
    for (std::uint64_t i = 1; i * 16'000 < credit + 32'000; ++i)
        static_cast<void>(peer.send_bytes(event_message(i, payload)));
    EXPECT_EQ(peer.receive_bye(), ByeReason::malformed);
    EXPECT_LE(recorder.sink.holding() * 16'000, credit);
}

TEST(Receiver, ANewerConnectionOfASessionReplacesTheOlder) {
    Recorder recorder;
    recorder.start();
    RawPeer older(recorder.receiver->port());
    older.send_message(hello_as("same"));
    ASSERT_TRUE(older.receive_welcome());
    const auto event = event_message(1, std::string(1000, 'x'));
    older.send_bytes(ConstData(event).first(event.size() - 500));  // it died within an event
    ASSERT_TRUE(eventually([&] { return recorder.pool.stats().in_use > Bytes{0}; }));
    RawPeer newer(recorder.receiver->port());
    newer.send_message(hello_as("same"));
    ASSERT_TRUE(newer.receive_welcome());
    EXPECT_EQ(older.receive_bye(), ByeReason::replaced);
    newer.send_bytes(event_message(1, "e"));
    EXPECT_EQ(newer.receive(), static_cast<int>(wire::MessageType::ack));
    EXPECT_EQ(recorder.reported("replaces an older connection"), 1U);
    EXPECT_EQ(recorder.stats().partial, 1U);
}

TEST(Receiver, ASessionThatComesWithAnotherFormatIsRefused) {
    Recorder recorder;
    recorder.start();
    RawPeer first(recorder.receiver->port());
    first.send_message(hello_as("one"));
    ASSERT_TRUE(first.receive_welcome());
    auto hello = hello_as("one");
    hello.format = wire::EventFormat::event_5_0;
    RawPeer second(recorder.receiver->port());
    second.send_message(hello);
    EXPECT_EQ(second.receive_bye(), ByeReason::format_mismatch);
    first.send_bytes(event_message(1, "e"));  // the first is not disturbed
    EXPECT_EQ(first.receive(), static_cast<int>(wire::MessageType::ack));
}

TEST(Receiver, AnswersForWhatIsNotInHandAreIgnored) {
    Recorder recorder;
    recorder.start();
    const std::vector<Answer> answers{{SessionId{9}, Sequence{1}}, {SessionId{1}, Sequence{0}}};
    recorder.receiver->acknowledge(answers);
    recorder.receiver->reject(answers[0], RejectReason::other, "nothing");
    EXPECT_EQ(recorder.stats().acknowledged, 0U);
}

TEST(Receiver, OptionsThatCannotWorkAreRefusedAtOpen) {
    memory::BufferPool pool(1_MiB);
    RecordingSink sink;
    ReceiverOptions options;
    options.event_size_max = Bytes{2U << 20};
    const auto receiver = Receiver::open(options, pool, sink);
    ASSERT_FALSE(receiver.has_value());
    EXPECT_EQ(receiver.error().code, Errc::usage);
    options.event_size_max = Bytes{1000};
    options.connections_max = 0;
    EXPECT_FALSE(Receiver::open(options, pool, sink).has_value());
}

TEST(Receiver, AClaimOfAnotherConnectionOfItsSessionCostsASenderNothing) {
    Recorder recorder;
    recorder.start();
    RawPeer first(recorder.receiver->port());
    ASSERT_TRUE(first.send_message(hello_as("filter")));
    ASSERT_TRUE(first.receive_welcome());
    ASSERT_TRUE(first.send_bytes(event_message(1, "stored")));
    ASSERT_EQ(first.receive(), static_cast<int>(wire::MessageType::ack));
    RawPeer other(recorder.receiver->port());
    ASSERT_TRUE(other.send_message(hello_as("filter", Sequence{1'000'000})));  // it holds none below
    ASSERT_TRUE(other.receive_welcome());
    RawPeer again(recorder.receiver->port());
    ASSERT_TRUE(again.send_message(hello_as("filter", Sequence{2})));
    ASSERT_TRUE(again.receive_welcome());
    EXPECT_EQ(to_string(wire::decode_welcome(again.meta).value().durable), "1");
    for (std::uint64_t sequence = 2; sequence <= 101; ++sequence)
        ASSERT_TRUE(again.send_bytes(event_message(sequence, "mine", 2)));
    EXPECT_TRUE(eventually([&] { return recorder.sink.taken() == 101; }));
    EXPECT_EQ(recorder.stats().acknowledged, 101U);
    EXPECT_EQ(recorder.reported("ALARM sequence gap"), 1U);
    EXPECT_EQ(recorder.reported("still holds sequences"), 1U);
    const std::scoped_lock lock(recorder.mutex);
    for (const auto& report : recorder.reports)
        EXPECT_EQ(text_of(report).find("filter/7/"), std::string::npos) << text_of(report);
}

TEST(Receiver, AnOldestHeldThatFallsOnOneConnectionIsMalformed) {
    Recorder recorder;
    recorder.start();
    RawPeer peer(recorder.receiver->port());
    ASSERT_TRUE(peer.send_message(hello_as("filter", Sequence{5})));
    ASSERT_TRUE(peer.receive_welcome());
    ASSERT_TRUE(peer.send_bytes(event_message(5, "good", 5)));
    ASSERT_TRUE(peer.send_bytes(event_message(6, "falls", 1)));
    EXPECT_EQ(peer.receive_bye(), wire::ByeReason::malformed);
    EXPECT_EQ(recorder.stats().acknowledged, 1U);
}

TEST(Receiver, SilentSessionsMakeRoomForASenderThatHasEvents) {
    ReceiverOptions options;
    options.connections_max = 20;
    options.idle_when_full = 0ms;
    Recorder recorder(options);
    recorder.start();
    std::vector<std::unique_ptr<RawPeer>> silent;
    for (int i = 0; i < 20; ++i) {
        silent.push_back(std::make_unique<RawPeer>(recorder.receiver->port()));
        ASSERT_TRUE(silent.back()->send_message(hello_as("silent-" + std::to_string(i))));
        ASSERT_TRUE(silent.back()->receive_welcome());
    }
    const auto sender = Sender::open(to_recorder(recorder)).value();
    ASSERT_TRUE(sender->send(described(1), as_data("x")).has_value());
    EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_GE(recorder.stats().closed[wire::index(wire::ByeReason::too_many_connections)], 1U);
}

TEST(Receiver, NoSenderConnectsBeforeItListens) {
    memory::BufferPool pool(Bytes{4U << 20});
    RecordingSink sink;
    ReceiverOptions options;
    options.event_size_max = Bytes{1U << 20};
    const auto receiver = Receiver::open(options, pool, sink).value();
    const auto connects = [&] {
        const auto address = transport::resolve({"127.0.0.1", receiver->port()}, false).value().front();
        const auto socket = transport::begin_connect(address, {});
        if (!socket) return false;
        pollfd one{socket->fd(), POLLOUT, 0};
        EXPECT_EQ(::poll(&one, 1, 60'000), 1);
        return socket->pending_error() == 0;
    };
    EXPECT_FALSE(connects());
    ASSERT_TRUE(receiver->listen().has_value());
    EXPECT_TRUE(connects());
}

}  // namespace
}  // namespace weir::delivery::test
