// SPDX-License-Identifier: Apache-2.0
// A sender that has lost its connection: what is sent again, to whom, and when it gives up.
#include <gtest/gtest.h>

#include <atomic>

#include "end_to_end.hpp"

namespace weir::delivery::test {
namespace {

TEST(Delivery, BeginsAsSoonAsThereIsARecorder) {
    const auto port = transport::ReservedPort::take({"127.0.0.1", 0}).value();
    SenderOptions options;
    options.host = transport::to_string(port.address());
    options.run = run;
    options.backoff_first = options.backoff_last = 2ms;
    auto sender = Sender::open(options).value();
    ASSERT_TRUE(sender->send(described(1), as_data("early")).has_value());
    EXPECT_TRUE(eventually([&] { return !sender->stats().last_problem.empty(); }));
    EXPECT_NE(sender->stats().last_problem.find("refused"), std::string::npos) << sender->stats().last_problem;
    const auto recorder = recorder_at(port);
    recorder->start();
    EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_EQ(recorder->sink.payloads.at(0), "early");
}

TEST(Delivery, AfterALostConnectionWhatIsNotFinalIsSentAgainAndTakenOnce) {
    auto recorder = std::make_unique<Recorder>();
    recorder->sink.answers = false;  // everything stays in hand
    recorder->start();
    auto sender = Sender::open(to_recorder(*recorder)).value();
    for (std::uint64_t i = 1; i <= 20; ++i) ASSERT_TRUE(sender->send(described(i), as_data("event")).has_value());
    ASSERT_TRUE(eventually([&] { return recorder->sink.holding() == 20; }));
    // The connection ends; the sender comes back at once with everything.
    recorder->receiver->disconnect(run, wire::ByeReason::too_slow, "a test");
    ASSERT_TRUE(eventually([&] { return recorder->stats().duplicates == 20; }));
    EXPECT_EQ(sender->stats().reconnects, 1U);
    recorder->sink.acknowledge_held();
    EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_TRUE(recorder->sink.each_once());
    EXPECT_EQ(sender->stats().acknowledged, 20U);
    EXPECT_EQ(sender->stats().resent, 20U);
}

TEST(Delivery, WhatWasAnsweredWhileTheSenderWasAwayIsNotSentAgain) {
    Recorder recorder;
    recorder.sink.answers = false;
    recorder.start();
    RawPeer first(recorder.receiver->port());
    first.send_message(hello_as("session"));
    ASSERT_TRUE(first.receive_welcome());
    for (std::uint64_t i = 1; i <= 4; ++i) first.send_bytes(event_message(i, "e"));
    ASSERT_TRUE(eventually([&] { return recorder.sink.holding() == 4; }));
    first.close();
    const auto session = recorder.sink.held.at(0).session;
    const std::vector<Answer> answers{{session, Sequence{1}}, {session, Sequence{2}}, {session, Sequence{4}}};
    recorder.receiver->acknowledge(answers);
    recorder.receiver->reject({session, Sequence{3}}, wire::RejectReason::late, "too late");

    RawPeer second(recorder.receiver->port());
    second.send_message(hello_as("session"));
    ASSERT_TRUE(second.receive_welcome());
    // The rejected one is not among the durable; it is named right after.
    EXPECT_EQ(to_string(wire::decode_welcome(second.meta).value().durable), "1-2,4");
    ASSERT_EQ(second.receive(), static_cast<int>(wire::MessageType::reject));
    const auto reject = wire::decode_reject(second.meta).value();
    EXPECT_EQ(reject.sequence, Sequence{3});
    EXPECT_EQ(reject.reason, wire::RejectReason::late);
    EXPECT_EQ(reject.text, "too late");
    EXPECT_EQ(to_string(recorder.receiver->final_sequences(session)), "1-4");
}

TEST(Delivery, WhatTheSinkHasLostIsSentAgainAndWhatIsInHandElsewhereIsNot) {
    Recorder recorder;
    recorder.sink.answers = false;
    recorder.start();
    auto sender = Sender::open(to_recorder(recorder)).value();
    for (std::uint64_t id = 1; id <= 6; ++id) ASSERT_TRUE(sender->send(described(id), as_data("event")).has_value());
    ASSERT_TRUE(eventually([&] { return recorder.sink.holding() == 6; }));
    std::vector<IncomingEvent> first;
    {
        const std::scoped_lock lock(recorder.sink.mutex);
        first.swap(recorder.sink.held);
    }
    std::vector<Answer> lost, kept;
    for (const auto& event : first)
        (number(event.meta.sequence) % 2 == 0 ? lost : kept).push_back({event.session, event.meta.sequence});
    auto twice = lost;
    twice.insert(twice.end(), lost.begin(), lost.end());  // the second time it is not in hand any more
    recorder.receiver->send_again(twice);
    ASSERT_TRUE(eventually([&] { return recorder.sink.holding() == 3; }));
    EXPECT_EQ(recorder.stats().returned, 3U);
    EXPECT_EQ(recorder.stats().in_hand, 6U);
    recorder.receiver->acknowledge(kept);
    recorder.sink.acknowledge_held();
    ASSERT_TRUE(sender->flush(60s).value());
    EXPECT_EQ(recorder.stats().acknowledged, 6U);
    EXPECT_EQ(recorder.stats().closed[wire::index(wire::ByeReason::send_again)], 1U);
    first.clear();
}

TEST(Delivery, ASenderThatIsRefusedFailsWithTheReason) {
    Recorder recorder;
    recorder.sink.accepted_run = RunNumber{1};
    auto sender = Sender::open(to_recorder(recorder)).value();
    ASSERT_TRUE(sender->send(described(1), as_data("x")).has_value());
    recorder.start();  // only now is anything answered
    const auto flushed = sender->flush(60s);
    ASSERT_FALSE(flushed.has_value());
    EXPECT_EQ(flushed.error().code, Errc::refused);
    EXPECT_NE(flushed.error().message().find("another run is being recorded"), std::string::npos);
    EXPECT_FALSE(sender->send(described(2), as_data("y")).has_value());
    EXPECT_EQ(recorder.reported("was refused"), 1U);
    const auto back = sender->withdraw();
    ASSERT_EQ(back.size(), 1U);
    EXPECT_EQ(as_text(back[0].payload.at(0).data), "x");
    EXPECT_FALSE(back[0].description.sent_elsewhere);  // it was never sent
    EXPECT_EQ(sender->stats().withdrawn, 1U);
}

TEST(Delivery, ALostConnectionOfTheSameSessionThatIsNoticedLateDoesNotEndTheSender) {
    Recorder recorder;
    recorder.start();
    auto sender = Sender::open(to_recorder(recorder)).value();
    auto stale = hello_as("sender-1");
    stale.session = sender->session();
    for (std::uint64_t i = 1; i <= 5; ++i) {  // more often than it would bear without an answer between
        ASSERT_TRUE(sender->send(described(i), as_data("event")).has_value());
        ASSERT_TRUE(sender->flush(60s).value());
        RawPeer late(recorder.receiver->port());
        late.send_message(stale);
        ASSERT_TRUE(eventually([&] { return sender->stats().reconnects == i; }));
    }
    EXPECT_TRUE(recorder.sink.each_once());
}

TEST(Delivery, AnotherSenderOfTheSameSessionEndsTheSenderAtLast) {
    Recorder recorder;
    recorder.sink.answers = false;
    recorder.start();
    auto sender = Sender::open(to_recorder(recorder)).value();
    ASSERT_TRUE(sender->send(described(1), as_data("event")).has_value());
    ASSERT_TRUE(eventually([&] { return recorder.sink.holding() == 1; }));
    auto other = hello_as("sender-1");
    other.session = sender->session();
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        peers.push_back(std::make_unique<RawPeer>(recorder.receiver->port()));
        peers.back()->send_message(other);
        ASSERT_TRUE(eventually([&] { return recorder.reported("replaces an older connection") >= 2 * i - 1; }));
        if (i == 3) break;
        ASSERT_TRUE(eventually([&] { return sender->stats().reconnects == i; }));
    }
    const auto flushed = sender->flush(60s);
    ASSERT_FALSE(flushed.has_value());
    EXPECT_NE(flushed.error().message().find("replaced"), std::string::npos) << flushed.error().message();
}

TEST(Delivery, WhatOneRecorderDidNotAnswerGoesToAnotherAndIsMarked) {
    Recorder first, second;
    first.sink.answers = false;
    first.start();
    second.start();
    auto sender = Sender::open(to_recorder(first)).value();
    ASSERT_TRUE(sender->send(described(9), as_data("again")).has_value());
    ASSERT_TRUE(eventually([&] { return first.sink.holding() == 1; }));
    auto back = sender->withdraw();
    ASSERT_EQ(back.size(), 1U);
    auto other = Sender::open(to_recorder(second)).value();
    ASSERT_TRUE(other->send(back[0].description, back[0].payload).has_value());
    EXPECT_TRUE(other->flush(60s).value());
    EXPECT_TRUE(second.sink.last_meta.sent_elsewhere);
    EXPECT_EQ(second.sink.last_meta.global_id, GlobalEventId{9});
}

TEST(Delivery, GivesUpOnlyWhenToldToAndSaysAfterHowLong) {
    SenderOptions options;
    options.host = "127.0.0.1:1";  // no program listens there
    options.backoff_first = options.backoff_last = 5ms;
    options.give_up_after = 30ms;
    auto sender = Sender::open(options).value();
    static_cast<void>(sender->send(described(1), as_data("x")));
    const auto flushed = sender->flush(60s);
    ASSERT_FALSE(flushed.has_value());
    EXPECT_NE(flushed.error().message().find("no connection for"), std::string::npos) << flushed.error().message();
}

TEST(Delivery, GivesUpAfterATimeWithoutAConnectionHoweverLongItHadOne) {
    Recorder recorder;
    recorder.start();
    auto options = to_recorder(recorder);
    options.give_up_after = 30ms;
    const auto sender = Sender::open(options).value();
    ASSERT_TRUE(sender->send(described(1), as_data("first")).has_value());
    ASSERT_TRUE(sender->flush(60s).value());
    std::this_thread::sleep_for(2 * options.give_up_after);
    recorder.receiver->disconnect(run, wire::ByeReason::too_slow, "a test");
    ASSERT_TRUE(eventually([&] { return recorder.stats().closed[wire::index(wire::ByeReason::too_slow)] == 1; }));
    EXPECT_TRUE(sender->send(described(2), as_data("second")).has_value());
    const auto flushed = sender->flush(60s);
    EXPECT_TRUE(flushed.has_value()) << flushed.error().message();
}

}  // namespace
}  // namespace weir::delivery::test
