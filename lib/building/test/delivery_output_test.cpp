// SPDX-License-Identifier: Apache-2.0
#include "weir/building/delivery_output.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "weir/delivery/receiver.hpp"
#include "weir/transport/reserved_port.hpp"
#include "weir/wire/recorder_choice.hpp"

namespace weir::building {
namespace {

using namespace std::chrono_literals;

transport::ReservedPort any_port() { return transport::ReservedPort::take({"127.0.0.1", 0}).value(); }

/// A filter that takes everything, and answers as the test sets it, or not at all. The first senders may be refused.
class FilterStandIn final : public delivery::EventSink {
public:
    explicit FilterStandIn(bool answers, std::optional<wire::RejectReason> reason = {},
                           const transport::ReservedPort& at = any_port(), int refuses = 0)
        : answers_(answers), reason_(reason), refuses_(refuses) {
        const auto lent = at.lend();
        delivery::ReceiverOptions options;
        options.listen = at.address();
        options.threads = 1;
        options.event_size_max = 1_MiB;
        receiver = delivery::Receiver::open(options, pool_, *this).value();
        receiver->start();
    }
    ~FilterStandIn() override { receiver.reset(); }
    std::optional<delivery::Refusal> hello(delivery::SessionId, const wire::Hello&) override {
        if (refuses_-- > 0) return delivery::Refusal{wire::ByeReason::wrong_run, "not yet"};
        return std::nullopt;
    }
    delivery::Taken take(delivery::IncomingEvent& event) override {
        const auto taken = std::move(event);
        ++events;
        const delivery::Answer answer{.session = taken.session, .sequence = taken.meta.sequence};
        if (answers_ && reason_) receiver->reject(answer, *reason_, "a test");
        if (answers_ && !reason_) receiver->acknowledge(std::span(&answer, 1));
        return delivery::Taken::yes;
    }
    [[nodiscard]] Peer peer(std::uint16_t id, const std::string& name = "ef") const {
        return {.name = name,
                .kind = StationKind::filter,
                .id = wire::StationId{id},
                .events = "127.0.0.1:" + std::to_string(receiver->port())};
    }
    std::atomic<int> events{0};

private:
    const bool answers_;
    const std::optional<wire::RejectReason> reason_;
    std::atomic<int> refuses_;
    memory::BufferPool pool_{16_MiB};  // its events are small

public:
    std::unique_ptr<delivery::Receiver> receiver;
};

struct DeliveryOutputTest : testing::Test {
    std::atomic<int> woken{0};
    SteadyTime now{1h};
    memory::BufferPool pool{16_MiB};
    DeliveryOutput output{
        {.name = "sfi",
         .format = wire::EventFormat::opaque,
         .tags = {StreamTag{.type = "physics", .name = "Main", .obeys_lumi_block = true, .robs = {}, .detectors = {}}}},
        [this] { ++woken; }};

    std::unique_ptr<BuiltEvent> event(std::uint64_t id, ConstData bytes = as_data("the bytes of an event")) {
        auto made = std::make_unique<BuiltEvent>();
        made->ticket.global_id = GlobalEventId{id};
        made->memory.begin(pool, 4096);
        made->pieces.make(bytes);
        return made;
    }
    void give(std::uint64_t count) {
        for (std::uint64_t id = 1; id <= count; ++id) {
            auto made = event(id);
            const auto until = std::chrono::steady_clock::now() + 120s;
            while (!output.take(made) && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
            ASSERT_EQ(made, nullptr);
        }
    }
    std::vector<EndedEvent> ended(std::size_t count) {
        std::vector<EndedEvent> all;
        const auto until = std::chrono::steady_clock::now() + 120s;
        while (all.size() < count && std::chrono::steady_clock::now() < until) {
            output.look_after(now += 1s);
            for (auto& one : output.take_ended()) all.push_back(std::move(one));
            std::this_thread::sleep_for(1ms);
        }
        return all;
    }
};

TEST_F(DeliveryOutputTest, AnEventEndsWhenItsReceiverHasAnswered) {
    FilterStandIn filter(true);
    ASSERT_TRUE(output.set_peers({filter.peer(1)}, RunNumber{1}));
    give(20);
    const auto all = ended(20);
    ASSERT_EQ(all.size(), 20U);
    EXPECT_EQ(all[0].outcome, wire::EventOutcome::stored);
    EXPECT_GT(woken.load(), 0);
}

TEST_F(DeliveryOutputTest, OnlyWhatNoFilterSelectedIsRejected) {
    FilterStandIn filter(true, wire::RejectReason::not_selected);
    ASSERT_TRUE(output.set_peers({filter.peer(1)}, RunNumber{1}));
    give(3);
    const auto all = ended(3);
    ASSERT_EQ(all.size(), 3U);
    for (const auto& one : all) EXPECT_EQ(one.outcome, wire::EventOutcome::rejected);
}

TEST_F(DeliveryOutputTest, ARefusalHasItsReasonAndADuplicateIsAsGoodAsStored) {
    FilterStandIn refuses(true, wire::RejectReason::malformed_event);
    ASSERT_TRUE(output.set_peers({refuses.peer(1)}, RunNumber{1}));
    give(3);
    auto all = ended(3);
    ASSERT_EQ(all.size(), 3U);
    for (const auto& one : all) {
        EXPECT_EQ(one.outcome, wire::EventOutcome::refused);
        EXPECT_EQ(one.reason, wire::name(wire::RejectReason::malformed_event));
    }
    FilterStandIn holds(true, wire::RejectReason::duplicate);
    ASSERT_TRUE(output.set_peers({holds.peer(2)}, RunNumber{1}));
    give(3);
    all = ended(3);
    ASSERT_EQ(all.size(), 3U);
    for (const auto& one : all) EXPECT_EQ(one.outcome, wire::EventOutcome::stored);
}

TEST_F(DeliveryOutputTest, TheEventsOfAReceiverThatWasReplacedGoToItsSuccessorThoughNoNewOnesCome) {
    FilterStandIn silent(false), successor(true);
    ASSERT_TRUE(output.set_peers({silent.peer(1)}, RunNumber{1}));
    give(30);
    EXPECT_TRUE(output.take_ended().empty());
    ASSERT_TRUE(output.set_peers({successor.peer(1)}, RunNumber{1}));
    EXPECT_EQ(ended(30).size(), 30U);
    EXPECT_EQ(successor.events.load(), 30);
}

TEST_F(DeliveryOutputTest, WhatAFilterThatCannotBeReachedMayHaveGoesToTheOthersAfterAMinute) {
    std::optional<FilterStandIn> silent(std::in_place, false);
    FilterStandIn other(true);
    const auto first = silent->peer(1, "ef-1");
    ASSERT_TRUE(output.set_peers({first}, RunNumber{1}));
    give(30);
    const auto until = std::chrono::steady_clock::now() + 120s;
    while (silent->events < 30 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    silent.reset();
    ASSERT_TRUE(output.set_peers({first, other.peer(2, "ef-2")}, RunNumber{1}));
    const auto begin = now;
    EXPECT_EQ(ended(30).size(), 30U);
    EXPECT_GE(now - begin, 60s);
}

TEST_F(DeliveryOutputTest, AllReceiversShareTheWindow) {
    const std::string large(70'000, 'x');  // more than a batch, so that both get some
    FilterStandIn one(false), two(false);
    DeliveryOutput small({.name = "sfi", .format = wire::EventFormat::opaque, .window = Bytes{300'000}}, [] {});
    ASSERT_TRUE(small.set_peers({one.peer(1, "ef-1"), two.peer(2, "ef-2")}, RunNumber{1}));
    const auto until = std::chrono::steady_clock::now() + 120s;
    while (small.stats().connected < 2 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    for (std::uint64_t id = 1; id <= 5; ++id) {
        auto made = event(id, as_data(large));
        EXPECT_EQ(small.take(made), id <= 4);
        EXPECT_EQ(made == nullptr, id <= 4);
    }
    while (one.events + two.events < 4 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(one.events.load(), 2);
    EXPECT_EQ(two.events.load(), 2);
}

TEST_F(DeliveryOutputTest, TheEventsOfASenderThatIsRefusedAreSentAgainThoughNoNewOnesCome) {
    const auto port = any_port();
    std::optional<FilterStandIn> silent(std::in_place, false, std::nullopt, port);
    ASSERT_TRUE(output.set_peers({silent->peer(1)}, RunNumber{1}));
    give(3);
    silent.reset();
    FilterStandIn successor(true, {}, port, 1);  // it has not started when it is found first
    EXPECT_EQ(ended(3).size(), 3U);
}

TEST_F(DeliveryOutputTest, WithoutFiltersEachEventGoesToTheRecorderThatItBelongsTo) {
    FilterStandIn one(true), two(true), back(true);
    const auto recorder = [](const FilterStandIn& stand_in, const std::string& name, std::uint16_t id) {
        auto peer = stand_in.peer(id);
        peer.kind = StationKind::record;
        peer.name = name;
        return peer;
    };
    ASSERT_TRUE(output.set_peers({recorder(one, "rec-1", 1), recorder(two, "rec-2", 2)}, RunNumber{1}));
    const auto both_connected = [&] {  // or the other one would get all of them: time passes quickly here
        const auto until = std::chrono::steady_clock::now() + 120s;
        while (output.stats().connected < 2 && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(1ms);
        ASSERT_EQ(output.stats().connected, 2U);
    };
    both_connected();
    constexpr int events = 300;
    int first = 0;
    for (std::uint64_t id = 1; id <= events; ++id)
        first += wire::preference(GlobalEventId{id}, "rec-1") > wire::preference(GlobalEventId{id}, "rec-2") ? 1 : 0;
    give(events);
    EXPECT_EQ(ended(events).size(), static_cast<std::size_t>(events));
    EXPECT_EQ(one.events.load(), first);
    EXPECT_EQ(two.events.load(), events - first);
    ASSERT_TRUE(output.set_peers({recorder(back, "rec-1", 1), recorder(two, "rec-2", 2)}, RunNumber{1}));
    both_connected();
    give(events);
    EXPECT_EQ(ended(events).size(), static_cast<std::size_t>(events));
    EXPECT_EQ(back.events.load(), first);
}

TEST_F(DeliveryOutputTest, AnotherRunBeginsWithSendersOfItsOwn) {
    FilterStandIn filter(true);
    for (const std::uint32_t run : {1U, 2U}) {
        ASSERT_TRUE(output.set_peers({filter.peer(1)}, RunNumber{run}));
        give(5);
        EXPECT_EQ(ended(5).size(), 5U);
    }
    EXPECT_EQ(filter.receiver->stats().connections_accepted, 2U);
}

}  // namespace
}  // namespace weir::building
