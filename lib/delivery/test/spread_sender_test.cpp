// SPDX-License-Identifier: Apache-2.0
#include "sending/spread_sender.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "end_to_end.hpp"
#include "weir/transport/reserved_port.hpp"

namespace weir::delivery::test {
namespace {

std::string address(const Recorder& recorder) { return "127.0.0.1:" + std::to_string(recorder.receiver->port()); }

struct SpreadSenderTest : ::testing::Test {
    SpreadSender& open(std::vector<std::string> hosts, SenderOptions options = {}) {
        options.name = "board";
        options.run = options.join_run ? RunNumber{} : run;
        options.backoff_first = 2ms;
        options.on_final = [this](Sequence sequence, std::optional<wire::RejectReason> rejected) {
            const std::scoped_lock lock(mutex);
            finals[sequence].push_back(rejected);
        };
        auto opened = SpreadSender::open(std::move(options), std::move(hosts));
        EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().message());
        sender = std::move(*opened);
        return *sender;
    }
    void send(std::uint64_t first, std::uint64_t last, std::size_t size = 20) {
        const std::string bytes(size, 'x');
        for (auto id = first; id <= last; ++id) ASSERT_TRUE(sender->send(described(id), as_data(bytes)).has_value());
    }
    void expect_all_acknowledged(std::uint64_t events) {
        const auto flushed = sender->flush(120s);
        ASSERT_TRUE(flushed.has_value()) << flushed.error().message();
        ASSERT_TRUE(*flushed);
        const auto stats = sender->stats();
        EXPECT_EQ(stats.accepted, events);
        EXPECT_EQ(stats.acknowledged, events);
        EXPECT_EQ(stats.held, 0U);
        const std::scoped_lock lock(mutex);
        EXPECT_EQ(finals.size(), events);
        for (const auto& [sequence, ends] : finals) {
            ASSERT_EQ(ends.size(), 1U) << number(sequence);
            EXPECT_FALSE(ends[0].has_value()) << number(sequence);
        }
    }

    std::mutex mutex;
    std::map<Sequence, std::vector<std::optional<wire::RejectReason>>> finals;
    std::unique_ptr<SpreadSender> sender;  // the last member: its threads use the others
};

TEST_F(SpreadSenderTest, SharesTheEventsOutAndEachIsFinalOnce) {
    Recorder one, two;
    one.start();
    two.start();
    open({address(one), address(two)});
    std::uint64_t events = 0;
    ASSERT_TRUE(eventually([&] {
        ++events;
        send(events, events, 5000);
        return one.sink.taken() > 0 && two.sink.taken() > 0;
    }));
    expect_all_acknowledged(events);
    EXPECT_EQ(one.sink.taken() + two.sink.taken(), events);
    EXPECT_EQ(sender->stats().sent, events);
    EXPECT_TRUE(sender->stats().connected);
    EXPECT_EQ(sender->in_doubt(), 0U);
}

TEST_F(SpreadSenderTest, GoesOnWithTheOthersWhileOneIsAwayAndItsEventsWaitForIt) {
    const auto port = transport::ReservedPort::take({"127.0.0.1", 0}).value();
    auto one = recorder_at(port);
    one->sink.answers = false;
    one->start();
    Recorder two;
    open({transport::to_string(port.address()), address(two)});
    ASSERT_TRUE(eventually([&] { return one->stats().connections == 1; }));
    send(1, 10);
    ASSERT_TRUE(eventually([&] { return one->sink.holding() == 10; }));
    two.start();
    ASSERT_TRUE(eventually([&] { return two.stats().connections == 1; }));
    one.reset();
    ASSERT_TRUE(eventually([&] { return !sender->stats().last_problem.empty(); }));
    send(11, 300);
    ASSERT_TRUE(eventually([&] { return sender->stats().acknowledged == 290; }));
    EXPECT_FALSE(*sender->flush(1ms));
    const auto back = recorder_at(port);
    back->start();
    expect_all_acknowledged(300);
    EXPECT_EQ(back->sink.taken(), 10U);
    for (const auto& [id, meta] : back->sink.metas) EXPECT_TRUE(meta.sent_elsewhere) << id;
}

TEST_F(SpreadSenderTest, WhatOneMayHaveThatStaysAwayGoesToAnotherAndIsCountedAsInDoubt) {
    auto one = std::make_unique<Recorder>();
    one->sink.answers = false;
    one->start();
    const auto port = transport::ReservedPort::take({"127.0.0.1", 0}).value();
    open({address(*one), transport::to_string(port.address())}, {.give_up_after = 3s});
    ASSERT_TRUE(eventually([&] { return one->stats().connections == 1; }));
    send(1, 10);
    ASSERT_TRUE(eventually([&] { return one->sink.holding() == 10; }));
    EXPECT_EQ(sender->in_doubt(), 0U);
    const auto there = recorder_at(port);
    there->start();
    ASSERT_TRUE(eventually([&] { return there->stats().connections == 1; }));
    one.reset();
    expect_all_acknowledged(10);
    EXPECT_EQ(sender->in_doubt(), 10U);
    EXPECT_EQ(there->sink.taken(), 10U);
    for (const auto& [id, meta] : there->sink.metas) EXPECT_TRUE(meta.sent_elsewhere) << id;
}

TEST_F(SpreadSenderTest, FailsWhenNoneIsConnectedForSoLong) {
    const auto one = transport::ReservedPort::take({"127.0.0.1", 0}).value(),
               two = transport::ReservedPort::take({"127.0.0.1", 0}).value();
    open({transport::to_string(one.address()), transport::to_string(two.address())}, {.give_up_after = 50ms});
    send(1, 1);
    ASSERT_TRUE(eventually([&] { return sender->failure().has_value(); }));
    EXPECT_FALSE(sender->send(described(2), as_data("x")).has_value());
    EXPECT_FALSE(sender->flush(120s).has_value());
}

TEST_F(SpreadSenderTest, JoinsTheRunThatTheFirstRecorderNames) {
    const auto port = transport::ReservedPort::take({"127.0.0.1", 0}).value();  // nobody is there
    Recorder two;
    open({transport::to_string(port.address()), address(two)}, {.join_run = true});
    EXPECT_FALSE(sender->run(1ms)->has_value());
    const Piece piece{as_data("x"), nullptr};
    EXPECT_FALSE(sender->try_send(described(1), std::span(&piece, 1))->has_value()) << "which run is not known yet";
    std::jthread sending([&] { send(1, 3); });
    two.start();
    const auto joined = sender->run(120s);
    ASSERT_TRUE(joined.has_value());
    EXPECT_EQ(*joined, run);
    sending.join();
    expect_all_acknowledged(3);
}

TEST_F(SpreadSenderTest, FailsInTheWordsOfARecorderWhenAllRefuse) {
    Recorder one, two;
    one.sink.accepted_run = two.sink.accepted_run = RunNumber{1};
    one.start();
    two.start();
    open({address(one), address(two)});
    ASSERT_TRUE(eventually([&] { return sender->failure().has_value(); }));
    EXPECT_NE(sender->failure()->message().find("another run is being recorded"), std::string::npos);
    const auto sent = sender->send(described(1), as_data("x"));
    ASSERT_FALSE(sent.has_value());
    EXPECT_NE(sent.error().message().find("another run is being recorded"), std::string::npos);
}

TEST_F(SpreadSenderTest, CloseEndsWhoWaitsAndReleasesTheRest) {
    Recorder one, two;
    one.sink.answers = two.sink.answers = false;
    one.start();
    two.start();
    open({address(one), address(two)}, {.window = Bytes{20}});
    const auto payload = std::make_shared<const std::string>(20, 'x');
    const Piece piece{as_data(*payload), payload};
    ASSERT_TRUE(sender->send(described(1), std::span(&piece, 1)).has_value());
    EXPECT_FALSE(sender->try_send(described(2), std::span(&piece, 1))->has_value());
    std::jthread sending([&] { EXPECT_FALSE(sender->send(described(2), as_data("x")).has_value()); });
    ASSERT_TRUE(eventually([&] { return one.sink.holding() + two.sink.holding() == 1; }));
    sender->close();
    sending.join();
    EXPECT_EQ(sender->stats().released, 1U);
    EXPECT_FALSE(sender->flush(1ms).has_value());
    EXPECT_EQ(payload.use_count(), 2) << "the test's own and its piece's";
}

TEST(SpreadSender, RefusesWhatItCannotDo) {
    const std::vector<std::string> two{"localhost:9000", "localhost:9001"};
    const auto refused = [](SenderOptions options, std::vector<std::string> hosts) {
        const auto opened = SpreadSender::open(std::move(options), std::move(hosts));
        return opened ? std::string("it was opened") : opened.error().message();
    };
    EXPECT_NE(refused({}, {"localhost:9000", "localhost:9000"}).find("named twice"), std::string::npos);
    EXPECT_NE(refused({.incarnation = 1}, two).find("cannot be continued"), std::string::npos);
    EXPECT_NE(refused({}, {"localhost:9000", "nowhere"}).find("nowhere"), std::string::npos);
    EXPECT_NE(refused({}, {}).find("needs a recorder"), std::string::npos);
    EXPECT_NE(refused({.name = "a b"}, two).find("a b"), std::string::npos);
}

}  // namespace
}  // namespace weir::delivery::test
