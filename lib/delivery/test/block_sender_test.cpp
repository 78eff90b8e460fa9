// SPDX-License-Identifier: Apache-2.0
// A real sender of blocks and a real receiver of them.
#include "weir/delivery/block_sender.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "weir/base/testing/eventually.hpp"
#include "weir/delivery/block_receiver.hpp"

namespace weir::delivery {
namespace {

using namespace std::chrono_literals;
using weir::testing::eventually;

class Fragments : public ::testing::Test {
protected:
    Fragments() {
        BlockReceiverOptions options;
        options.receiver.threads = 1;
        options.receiver.event_size_max = Bytes{1 << 20};
        options.memory = Bytes{4 << 20};
        receiver =
            BlockReceiver<wire::InputFragment>::open(
                std::move(options), [this](const wire::InputFragment& one, SteadyTime, bool) { return take(one); },
                [](const char*) {}, {}, clock)
                .value();
    }
    /// Every tenth event is done with.
    RecordFate take(const wire::InputFragment& fragment) {
        const std::scoped_lock lock(mutex);
        const auto id = number(fragment.level1_id.value());
        if (id % 10 == 0) return {RecordTaken::refused, wire::RefuseReason::late};
        if (taken.size() >= room) return {RecordTaken::full};
        taken.push_back(id);
        bytes += fragment.payload.size();
        return {};
    }
    BlockSenderOptions options() {
        BlockSenderOptions to;
        to.sender.host = "127.0.0.1:" + std::to_string(receiver->port());
        to.sender.name = "board-1";
        to.sender.backoff_first = 5ms;
        to.sender.backoff_last = 20ms;
        to.on_ended = [this](const RecordsEnded& ended) {
            const std::scoped_lock lock(mutex);
            for (auto number = ended.first; number <= ended.last; ++number) {
                EXPECT_FALSE(fates.contains(number)) << "twice";
                fates[number] = ended;
            }
        };
        return to;
    }
    static wire::InputFragment fragment(std::uint32_t event, std::string_view payload = "weir") {
        return {.source = SourceId{0x420000},
                .level1_id = Level1Id{event},
                .status_words = {},
                .payload = as_data(payload)};
    }

    SystemClock clock;
    std::mutex mutex;
    std::vector<std::uint32_t> taken;
    std::size_t room = 1'000'000;
    std::size_t bytes = 0;
    std::map<std::uint64_t, RecordsEnded> fates;
    std::unique_ptr<BlockReceiver<wire::InputFragment>> receiver;
};

TEST_F(Fragments, EachOfManyIsTakenOnceInOrderAndItsFateIsSaidOnce) {
    receiver->start_run(RunNumber{7});
    auto to = options();
    to.block_age_max = 1h;  // a block is sent when it is full, or at the flush
    const auto board = FragmentSender::open(std::move(to)).value();
    std::vector<std::uint32_t> expected;
    for (std::uint32_t event = 1; event <= 20'000; ++event) {
        ASSERT_EQ(board->send(fragment(event)).value(), event);
        if (event % 10 != 0) expected.push_back(event);
    }
    ASSERT_TRUE(board->flush(30s).value());
    EXPECT_EQ(board->run(1s).value(), RunNumber{7});
    const std::scoped_lock lock(mutex);
    EXPECT_EQ(taken, expected);
    ASSERT_EQ(fates.size(), 20'000U);
    for (const auto& [number, ended] : fates) {
        EXPECT_EQ(ended.refused.has_value(), number % 10 == 0) << number;
        EXPECT_FALSE(ended.rejected.has_value());
    }
    const auto stats = board->stats();
    EXPECT_EQ(stats.sent, 20'000U);
    EXPECT_EQ(stats.taken, 18'000U);
    EXPECT_EQ(stats.refused, 2'000U);
    EXPECT_EQ(stats.open, 0U);
    EXPECT_LT(stats.sender.accepted, 2'000U) << "blocks, not fragments";
}

TEST_F(Fragments, TheStateOfTheConnectionIsNotifiedFromTheFirstAttemptToTheEndOfTheRun) {
    std::vector<std::pair<LinkState, std::string>> states;
    auto to = options();
    to.sender.on_state = [&](LinkState state, const std::string& why) {
        const std::scoped_lock lock(mutex);
        states.emplace_back(state, why);
    };
    const auto board = FragmentSender::open(std::move(to)).value();
    std::string why;  // of the last one that came
    const auto came = [&](LinkState wanted) {
        return eventually([&] {
            const std::scoped_lock lock(mutex);
            if (states.empty() || states.back().first != wanted) return false;
            why = states.back().second;
            return true;
        });
    };
    ASSERT_TRUE(came(LinkState::connecting));
    EXPECT_TRUE(why.contains("no run goes on")) << why;
    receiver->start_run(RunNumber{7});
    ASSERT_TRUE(came(LinkState::connected));
    receiver->end_run();
    ASSERT_TRUE(came(LinkState::failed));
    EXPECT_TRUE(why.contains("run 7 has ended")) << why;
}

TEST_F(Fragments, ALonelyOneIsSentWithoutAFlush) {
    receiver->start_run(RunNumber{7});
    const auto board = FragmentSender::open(options()).value();
    ASSERT_TRUE(board->send(fragment(1)).has_value());
    ASSERT_TRUE(eventually([&] { return board->stats().taken == 1; }));
}

TEST_F(Fragments, WithoutRoomTheSenderIsBusyAndThenGoesOn) {
    room = 0;
    receiver->start_run(RunNumber{7});
    auto to = options();
    to.sender.window = Bytes{100'000};
    to.send_wait_max = 20ms;
    const auto board = FragmentSender::open(std::move(to)).value();
    const std::string payload(5'000, 'x');
    std::uint32_t event = 1;
    const auto next = [&] { return event % 10 == 0 ? ++event : event; };
    while (const auto sent = board->try_send(fragment(next(), payload)).value()) ++event;
    EXPECT_GT(event, 20U);
    EXPECT_LT(event, 60U);
    EXPECT_TRUE(board->busy());
    EXPECT_EQ(board->send(fragment(next(), payload)).error().code, Errc::limit);
    ASSERT_TRUE(eventually([&] { return receiver->stats().waiting == 1; }));  // else it would not be resumed
    {
        const std::scoped_lock lock(mutex);
        room = 1000;
    }
    static_cast<void>(receiver->resume());
    ASSERT_TRUE(eventually([&] { return !board->busy(); }));
    ASSERT_TRUE(board->send(fragment(next(), payload)).has_value());
    ASSERT_TRUE(board->flush(10s).value());
    EXPECT_EQ(board->stats().refused, 0U);
    EXPECT_GT(board->stats().waits, 0U);
}

TEST_F(Fragments, ABlockIsSentAtTheAgeOfItsFirstRecord) {
    receiver->start_run(RunNumber{7});
    ManualClock time;
    auto to = options();
    to.block_age_max = 1h;
    const auto board = FragmentSender::open(std::move(to), time).value();
    ASSERT_TRUE(board->send(fragment(1)).has_value());
    time.advance(59min);
    ASSERT_TRUE(board->send(fragment(2)).has_value());
    EXPECT_EQ(board->stats().sender.accepted, 0U);
    time.advance(1min);
    ASSERT_TRUE(eventually([&] { return board->stats().taken == 2; }));
    EXPECT_EQ(board->stats().sender.accepted, 1U);
}

TEST_F(Fragments, WithoutRoomSendAndFlushEndAtTheirTime) {
    room = 0;
    receiver->start_run(RunNumber{7});
    ManualClock time;
    auto to = options();
    to.sender.window = Bytes{100'000};
    to.send_wait_max = 1h;
    const auto board = FragmentSender::open(std::move(to), time).value();
    const std::string payload(50'000, 'x');
    std::uint32_t event = 1;
    while (board->try_send(fragment(event, payload)).value()) ++event;
    const auto waits = board->stats().waits;
    {
        const std::jthread passing([&] {
            EXPECT_TRUE(eventually([&] { return board->stats().waits > waits; }));
            time.advance(1h);
        });
        EXPECT_EQ(board->send(fragment(event, payload)).error().code, Errc::limit);
    }
    std::atomic<bool> flushed = false;
    const std::jthread passing([&] {
        EXPECT_TRUE(eventually([&] {
            time.advance(1h);
            return flushed.load();
        }));
    });
    EXPECT_FALSE(board->flush(1h).value());
    flushed = true;
}

TEST_F(Fragments, ARecordLargerThanABlockGoesAlone) {
    receiver->start_run(RunNumber{7});
    const auto board = FragmentSender::open(options()).value();
    const std::string large(300'000, 'x');
    for (const std::uint32_t event : {1U, 2U, 3U}) ASSERT_TRUE(board->send(fragment(event, large)).has_value());
    ASSERT_TRUE(board->flush(10s).value());
    EXPECT_EQ(bytes, 900'000U);
}

TEST_F(Fragments, AnOversizedOneIsRejectedAndTheOthersGoOn) {
    receiver->start_run(RunNumber{7});
    const auto board = FragmentSender::open(options()).value();
    ASSERT_TRUE(board->send(fragment(1)).has_value());
    ASSERT_TRUE(board->flush(10s).value());  // it is connected, and knows how large a block may be
    ASSERT_EQ(board->send(fragment(2, std::string(2 << 20, 'x'))).value(), 2U);
    ASSERT_TRUE(board->send(fragment(3)).has_value());
    ASSERT_TRUE(board->flush(10s).value());
    ASSERT_TRUE(board->send(fragment(4)).has_value());
    ASSERT_TRUE(eventually([&] { return board->stats().taken == 3; })) << "blocks that are old are still sent";
    const std::scoped_lock lock(mutex);
    EXPECT_EQ(taken, (std::vector<std::uint32_t>{1, 3, 4}));
    ASSERT_TRUE(fates.contains(2));
    EXPECT_EQ(fates[2].rejected, wire::RejectReason::too_large);
    EXPECT_EQ(board->stats().rejected, 1U);
    EXPECT_EQ(board->stats().open, 0U);
}

TEST_F(Fragments, WhenTheRunEndsWaitingCallsEndWithTheReason) {
    room = 0;
    receiver->start_run(RunNumber{7});
    auto to = options();
    to.sender.window = Bytes{100'000};
    const auto board = FragmentSender::open(std::move(to)).value();
    std::jthread ending([&] {
        EXPECT_TRUE(eventually([&] { return receiver->stats().waiting > 0; }));
        receiver->end_run();
    });
    Result<std::uint64_t> sent = 0;
    for (std::uint32_t event = 1; sent; ++event) sent = board->send(fragment(10 * event + 1, std::string(1000, 'x')));
    EXPECT_EQ(sent.error().code, Errc::refused);
    EXPECT_TRUE(sent.error().message().contains("run 7 has ended")) << sent.error().message();
    EXPECT_FALSE(board->flush(10s).has_value());
}

TEST_F(Fragments, WhatCannotBeSentIsAnErrorAtOnce) {
    const auto board = FragmentSender::open(options()).value();
    auto many = fragment(1);
    many.status_words.resize(65);
    EXPECT_EQ(board->send(many).error().code, Errc::limit);
    auto rob = fragment(1);
    rob.kind = wire::PayloadKind::rob;
    rob.status_words = {1};
    EXPECT_EQ(board->send(rob).error().code, Errc::usage);
    EXPECT_EQ(board->stats().sent, 0U);
    board->close();
    EXPECT_EQ(board->send(fragment(1)).error().code, Errc::refused);
}

}  // namespace
}  // namespace weir::delivery
