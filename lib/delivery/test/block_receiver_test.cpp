// SPDX-License-Identifier: Apache-2.0
// Blocks from a real Sender over a real socket.
#include "weir/delivery/block_receiver.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>

#include "end_to_end.hpp"
#include "weir/base/testing/eventually.hpp"
#include "weir/delivery/sender.hpp"

namespace weir::delivery {
namespace {

using namespace std::chrono_literals;
using weir::testing::eventually;

constexpr RunNumber run{7};

/// Takes triggers as far as there is room; ids of 1000 and more are late.
class Triggers : public ::testing::Test {
protected:
    Triggers() {
        BlockReceiverOptions options;
        options.receiver.threads = 1;
        options.receiver.event_size_max = Bytes{1 << 20};
        options.memory = Bytes{8 << 20};
        receiver = BlockReceiver<wire::InputTrigger>::open(
                       std::move(options),
                       [this](const wire::InputTrigger& trigger, SteadyTime, bool last) { return take(trigger, last); },
                       [this](const char*) { ++bad; }, {}, clock)
                       .value();
    }
    RecordFate take(const wire::InputTrigger& trigger, bool last) {
        const std::scoped_lock lock(mutex);
        const auto id = number(trigger.level1_id);
        if (id >= 1000) return {RecordTaken::refused, wire::RefuseReason::late};
        if (taken.size() < room) return taken.push_back(id), RecordFate{};
        if (!last) return {RecordTaken::full};
        return {RecordTaken::refused, wire::RefuseReason::stopping};
    }
    void make_room(std::size_t more) {
        {
            const std::scoped_lock lock(mutex);
            room += more;
        }
        static_cast<void>(receiver->resume());
    }
    std::vector<std::uint32_t> seen() {
        const std::scoped_lock lock(mutex);
        return taken;
    }
    std::unique_ptr<Sender> sender(const std::string& name = "trigger-unit",
                                   wire::EventFormat format = wire::EventFormat::triggers) {
        SenderOptions options;
        options.host = "127.0.0.1:" + std::to_string(receiver->port());
        options.name = name;
        options.join_run = true;
        options.format = format;
        options.backoff_first = 5ms;
        options.on_refused = [this](Sequence sequence, std::span<const wire::Refusal> records) {
            const std::scoped_lock lock(mutex);
            refused[number(sequence)] = {records.begin(), records.end()};
        };
        options.on_final = [this](Sequence sequence, std::optional<wire::RejectReason> reason) {
            const std::scoped_lock lock(mutex);
            finals[number(sequence)] = reason;
        };
        return Sender::open(std::move(options)).value();
    }
    static std::vector<std::byte> block(std::initializer_list<std::uint32_t> ids) {
        std::vector<std::byte> bytes;
        for (const auto id : ids) wire::encode(wire::InputTrigger{.level1_id = Level1Id{id}}, bytes);
        return bytes;
    }

    SystemClock clock;
    std::mutex mutex;
    std::vector<std::uint32_t> taken;
    std::size_t room = 1000;
    std::atomic<int> bad{0};
    std::map<std::uint64_t, std::vector<wire::Refusal>> refused;
    std::map<std::uint64_t, std::optional<wire::RejectReason>> finals;
    std::unique_ptr<BlockReceiver<wire::InputTrigger>> receiver;
};

TEST_F(Triggers, RecordsAreTakenInOrderAndTheirSenderIsAnsweredWithThoseThatWereRefused) {
    receiver->start_run(run);
    const auto from = sender();
    ASSERT_TRUE(from->send({}, block({1, 2, 1001, 3})).has_value());
    ASSERT_TRUE(from->send({}, block({4})).has_value());
    ASSERT_TRUE(from->flush(10s).value());
    EXPECT_EQ(seen(), (std::vector<std::uint32_t>{1, 2, 3, 4}));
    EXPECT_EQ(refused.size(), 1U);
    EXPECT_EQ(refused[1], (std::vector<wire::Refusal>{{2, wire::RefuseReason::late}}));
    EXPECT_EQ(finals, (std::map<std::uint64_t, std::optional<wire::RejectReason>>{{1, {}}, {2, {}}}));
    const auto stats = receiver->stats();
    EXPECT_EQ(stats.records, 5U);
    EXPECT_EQ(stats.refused, 1U);
    EXPECT_EQ(from->run(1s).value(), run);
}

TEST_F(Triggers, ABlockWithoutRoomHoldsItsPlaceAndOthersGoOn) {
    room = 2;
    receiver->start_run(run);
    const auto first = sender("first");
    ASSERT_TRUE(first->send({}, block({1, 2, 3})).has_value());
    ASSERT_TRUE(first->send({}, block({4})).has_value());
    ASSERT_TRUE(eventually([&] { return receiver->stats().waiting == 1; }));
    EXPECT_FALSE(first->flush(20ms).value());
    const auto second = sender("second");  // whose only record is refused at once
    ASSERT_TRUE(second->send({}, block({1001, 1002})).has_value());
    ASSERT_TRUE(second->flush(10s).value());
    make_room(1);
    ASSERT_TRUE(eventually([&] { return seen().size() == 3; }));
    ASSERT_TRUE(eventually([&] { return receiver->stats().waiting == 1; }));  // else it would not be resumed
    make_room(1);
    ASSERT_TRUE(first->flush(10s).value());
    EXPECT_EQ(seen(), (std::vector<std::uint32_t>{1, 2, 3, 4}));
    EXPECT_EQ(receiver->stats().waiting, 0U);
}

TEST_F(Triggers, AtTheEndOfTheRunWhatWaitsIsAnsweredAndItsSenderEnds) {
    room = 1;
    receiver->start_run(run);
    const auto from = sender();
    ASSERT_TRUE(from->send({}, block({1, 2, 3})).has_value());
    ASSERT_TRUE(from->send({}, block({4})).has_value());
    ASSERT_TRUE(eventually([&] { return receiver->stats().waiting == 1; }));
    ASSERT_TRUE(eventually([&] { return receiver->stats().receiver.waiting == 1; }));
    receiver->end_run();
    ASSERT_TRUE(eventually([&] { return from->failure().has_value(); }));
    const std::scoped_lock lock(mutex);
    EXPECT_EQ(taken, (std::vector<std::uint32_t>{1}));
    EXPECT_EQ(finals.size(), 2U);
    using enum wire::RefuseReason;
    EXPECT_EQ(refused[1], (std::vector<wire::Refusal>{{1, stopping}, {2, stopping}}));
    EXPECT_EQ(refused[2], (std::vector<wire::Refusal>{{0, stopping}}));
}

TEST_F(Triggers, BetweenRunsASenderWaitsAndJoinsTheNext) {
    const auto from = sender();
    ASSERT_TRUE(from->send({}, block({1})).has_value());
    EXPECT_FALSE(from->flush(50ms).value());
    receiver->start_run(RunNumber{8});
    ASSERT_TRUE(from->flush(10s).value());
    EXPECT_EQ(from->run(1s).value(), RunNumber{8});
}

TEST_F(Triggers, AnotherFormatIsRefused) {
    receiver->start_run(run);
    for (const auto format : {wire::EventFormat::fragments, wire::EventFormat::opaque}) {
        const auto from = sender("other", format);
        ASSERT_TRUE(eventually([&] { return from->failure().has_value(); }));
    }
}

TEST_F(Triggers, WhatCannotBeReadIsRefusedOrRejectedAndCounted) {
    receiver->start_run(run);
    const auto from = sender();
    auto half = block({1, 2});
    half.resize(half.size() - 4);  // the second is cut
    ASSERT_TRUE(from->send({}, half).has_value());
    ASSERT_TRUE(from->send({}, as_data("no block at all")).has_value());
    ASSERT_TRUE(from->flush(10s).value());
    EXPECT_EQ(seen(), (std::vector<std::uint32_t>{1}));
    EXPECT_EQ(refused[1], (std::vector<wire::Refusal>{{1, wire::RefuseReason::malformed}}));
    EXPECT_EQ(finals[2], wire::RejectReason::malformed_event);
    EXPECT_EQ(bad, 2);
    EXPECT_EQ(receiver->stats().blocks_malformed, 1U);
}

TEST_F(Triggers, RefusalsThatWereLostWithTheirConnectionComeAgainBeforeTheAck) {
    receiver->start_run(run);
    test::RawPeer peer(receiver->port());
    wire::Hello hello{.session = {.sender = "raw", .incarnation = 5, .connection = 0, .run = run},
                      .format = wire::EventFormat::triggers};
    const auto is = [](wire::MessageType type) { return static_cast<int>(type); };
    ASSERT_TRUE(peer.send_message(hello));
    ASSERT_TRUE(peer.receive_welcome());
    const auto bytes = block({1, 1001});
    std::vector<std::byte> event;
    wire::encode(wire::EventMeta{.sequence = Sequence{1}, .payload_crc = checksum::crc32c(bytes)}, bytes.size(), event);
    event.insert(event.end(), bytes.begin(), bytes.end());
    ASSERT_TRUE(peer.send_bytes(event));
    ASSERT_TRUE(eventually([&] { return receiver->stats().blocks == 1; }));
    peer.close();  // it has read nothing
    test::RawPeer again(receiver->port());
    ASSERT_TRUE(again.send_message(hello));
    ASSERT_TRUE(again.receive_welcome());
    EXPECT_TRUE(wire::decode_welcome(again.meta).value().durable.ranges().empty());
    ASSERT_EQ(again.receive(), is(wire::MessageType::refused));
    EXPECT_EQ(wire::decode_refused(again.meta).value(), (wire::Refused{Sequence{1}, {{1, wire::RefuseReason::late}}}));
    ASSERT_EQ(again.receive(), is(wire::MessageType::ack));
    EXPECT_EQ(wire::decode_ack(again.meta).value().cumulative, Sequence{1});
    EXPECT_EQ(seen(), (std::vector<std::uint32_t>{1}));
}

}  // namespace
}  // namespace weir::delivery
