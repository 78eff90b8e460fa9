// SPDX-License-Identifier: Apache-2.0
#include "sending/send_buffer.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "weir/base/testing/number_in_environment.hpp"

namespace weir::delivery {
namespace {

using wire::RejectReason;
constexpr auto enough = std::numeric_limits<std::uint64_t>::max();

Sequence put(SendBuffer& send_buffer, std::string_view payload = "payload") {
    bool wake = false;
    const Piece piece{as_data(payload), nullptr};
    return **send_buffer.add({}, std::span(&piece, 1), false, wake);
}

wire::SequenceRange range(std::uint64_t first, std::uint64_t last) { return {Sequence{first}, Sequence{last}}; }

TEST(SendBuffer, GivesEventsInOrderAndOnlyWhatCreditCovers) {
    SendBuffer send_buffer{SenderOptions{}};
    put(send_buffer);
    put(send_buffer);
    EXPECT_EQ(send_buffer.next(10), nullptr);
    auto* first = send_buffer.next(enough);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->meta.sequence, Sequence{1});
    const auto cost = first->head.size() + first->size;
    EXPECT_EQ(send_buffer.next(cost - 1), nullptr);
    EXPECT_EQ(send_buffer.next(cost)->meta.sequence, Sequence{2});
    EXPECT_EQ(send_buffer.next(enough), nullptr);
}

TEST(SendBuffer, WakesTheIoThreadOnlyWhenItSleeps) {
    SendBuffer send_buffer{SenderOptions{}};
    bool wake = false;
    const Piece piece{as_data("x"), nullptr};
    ASSERT_TRUE(send_buffer.add({}, std::span(&piece, 1), false, wake).has_value());
    EXPECT_FALSE(wake);
    static_cast<void>(send_buffer.next(enough));
    EXPECT_EQ(send_buffer.next(enough), nullptr);  // nothing more: it goes to sleep
    ASSERT_TRUE(send_buffer.add({}, std::span(&piece, 1), false, wake).has_value());
    EXPECT_TRUE(wake);
    ASSERT_TRUE(send_buffer.add({}, std::span(&piece, 1), false, wake).has_value());
    EXPECT_FALSE(wake);
}

TEST(SendBuffer, WhatAnEarlierProcessOfTheSessionHasSentIsAnsweredWhenItWasSentAgain) {
    SendBuffer send_buffer{SenderOptions{.incarnation = 1, .first_sequence = Sequence{3}, .replays = true}};
    std::vector<SendBuffer::Settled> settled;
    EXPECT_TRUE(send_buffer.acknowledge(range(1, 5), settled));  // the durable events of WELCOME
    EXPECT_TRUE(send_buffer.reject(Sequence{4}, RejectReason::late, settled));
    EXPECT_EQ(put(send_buffer), Sequence{3});
    put(send_buffer);
    EXPECT_TRUE(settled.empty());
    send_buffer.sent(*send_buffer.next(enough));
    EXPECT_TRUE(send_buffer.acknowledge(range(1, 5), settled));
    ASSERT_EQ(settled.size(), 1U);
    EXPECT_EQ(settled[0].sequence, Sequence{3});
    send_buffer.sent(*send_buffer.next(enough));
    EXPECT_TRUE(send_buffer.reject(Sequence{4}, RejectReason::late, settled));
    EXPECT_EQ(settled.size(), 2U);
}

TEST(SendBuffer, ARejectionThatIsToldBeforeTheEventCameAgainIsNotTakenForAnAcknowledgement) {
    SendBuffer send_buffer{SenderOptions{.incarnation = 1, .replays = true}};
    std::vector<SendBuffer::Settled> settled;
    EXPECT_TRUE(send_buffer.reject(Sequence{2}, RejectReason::bad_tag, settled));  // right behind WELCOME
    put(send_buffer);
    put(send_buffer);
    send_buffer.sent(*send_buffer.next(enough));
    send_buffer.sent(*send_buffer.next(enough));
    EXPECT_TRUE(send_buffer.acknowledge(range(1, 2), settled));  // of the process before; our own 2 has not arrived yet
    ASSERT_EQ(settled.size(), 2U);
    EXPECT_FALSE(settled[0].rejected.has_value());
    EXPECT_EQ(settled[1].rejected, RejectReason::bad_tag);
}

TEST(SendBuffer, AnAnswerForWhatWasNeverSentIsRefused) {
    SendBuffer send_buffer{SenderOptions{}};
    std::vector<SendBuffer::Settled> settled;
    put(send_buffer);
    put(send_buffer);
    EXPECT_FALSE(send_buffer.acknowledge(range(1, 1), settled));
    send_buffer.sent(*send_buffer.next(enough));
    EXPECT_FALSE(send_buffer.acknowledge(range(1, 2), settled));
    EXPECT_FALSE(send_buffer.reject(Sequence{2}, RejectReason::late, settled));
    EXPECT_TRUE(settled.empty());
    EXPECT_TRUE(send_buffer.acknowledge(range(1, 1), settled));
    EXPECT_EQ(settled.size(), 1U);
    EXPECT_TRUE(send_buffer.acknowledge(range(1, 1), settled));  // repeated: no harm
    EXPECT_EQ(settled.size(), 1U);
}

TEST(SendBuffer, AnEventAnsweredWhileItIsSentAgainKeepsItsBytesUntilTheyAreOut) {
    SendBuffer send_buffer{SenderOptions{}};
    std::vector<SendBuffer::Settled> settled;
    bool gone = false;
    const auto owner = [&gone](const void*) { gone = true; };
    {
        bool wake = false;
        const Piece piece{as_data("bytes"), std::shared_ptr<const void>("bytes", owner)};
        ASSERT_TRUE(send_buffer.add({}, std::span(&piece, 1), false, wake).has_value());
    }
    send_buffer.sent(*send_buffer.next(enough));
    send_buffer.rewind();
    auto* again = send_buffer.next(enough);
    ASSERT_NE(again, nullptr);
    EXPECT_TRUE(send_buffer.acknowledge(range(1, 1), settled));
    send_buffer.release_settled();
    EXPECT_FALSE(gone);
    EXPECT_EQ(as_text(again->payload.at(0).data), "bytes");
    send_buffer.sent(*again);
    send_buffer.release_settled();
    EXPECT_TRUE(gone);
    EXPECT_EQ(send_buffer.stats().resent, 1U);
    EXPECT_EQ(send_buffer.oldest_held(), Sequence{2});
}

TEST(SendBuffer, FlushSaysOfNoEventThatItIsFinalAfterItWasTakenBack) {
    SendBuffer send_buffer{SenderOptions{}};
    std::vector<SendBuffer::Settled> settled;
    put(send_buffer);
    send_buffer.sent(*send_buffer.next(enough));
    ASSERT_TRUE(send_buffer.acknowledge(range(1, 1), settled));
    send_buffer.reported(1);
    send_buffer.set_failure({Errc::refused, 0, "the sender is closed"});
    EXPECT_TRUE(send_buffer.withdraw().empty());
    EXPECT_TRUE(send_buffer.flush({}).value()) << "all were final";

    SendBuffer another{SenderOptions{}};
    put(another);
    another.set_failure({Errc::refused, 0, "the sender is closed"});
    EXPECT_EQ(another.withdraw().size(), 1U);
    EXPECT_FALSE(another.flush({}).has_value());
    EXPECT_EQ(another.stats().withdrawn, 1U);
    EXPECT_EQ(another.stats().released, 0U);
}

/// Between any two steps of releasing them, as the owner of a released payload sees it.
TEST(SendBuffer, FlushSaysOfNoEventThatItIsFinalWhileAllAreReleased) {
    SendBuffer send_buffer{SenderOptions{}};
    std::vector<SendBuffer::Settled> settled;
    int looks = 0;
    const auto owner = [&](const void*) {
        ++looks;
        EXPECT_FALSE(send_buffer.flush({}).has_value());
        const auto stats = send_buffer.stats();
        EXPECT_EQ(stats.accepted, stats.acknowledged + stats.held + stats.withdrawn + stats.released);
    };
    for (int i = 0; i < 2; ++i) {
        bool wake = false;
        const Piece piece{as_data("bytes"), std::shared_ptr<const void>("bytes", owner)};
        ASSERT_TRUE(send_buffer.add({}, std::span(&piece, 1), false, wake).has_value());
    }
    send_buffer.sent(*send_buffer.next(enough));
    ASSERT_TRUE(send_buffer.acknowledge(range(1, 1), settled));
    send_buffer.reported(1);
    send_buffer.set_failure({Errc::refused, 0, "the sender is closed"});
    send_buffer.release_all();
    EXPECT_EQ(looks, 2);
    EXPECT_EQ(send_buffer.stats().released, 1U);
    EXPECT_EQ(send_buffer.stats().withdrawn, 0U);
}

/// Within the lock its owner's call would wait for ever.
TEST(SendBuffer, APayloadThatIsFinalAndWasStillBeingSentIsReleasedWithoutTheLock) {
    for (const bool close : {false, true}) {
        SendBuffer send_buffer{SenderOptions{}};
        std::vector<SendBuffer::Settled> settled;
        std::uint64_t acknowledged = 0;
        const auto owner = [&](const void*) { acknowledged = send_buffer.stats().acknowledged; };
        {
            bool wake = false;
            const Piece piece{as_data("bytes"), std::shared_ptr<const void>("bytes", owner)};
            ASSERT_TRUE(send_buffer.add({}, std::span(&piece, 1), false, wake).has_value());
        }
        send_buffer.sent(*send_buffer.next(enough));
        send_buffer.rewind();
        ASSERT_NE(send_buffer.next(enough), nullptr);
        ASSERT_TRUE(send_buffer.acknowledge(range(1, 1), settled));
        if (close) send_buffer.release_all();
        else EXPECT_TRUE(send_buffer.withdraw().empty());
        EXPECT_EQ(acknowledged, 1U);
    }
}

TEST(SendBuffer, WhatIsSentAgainOverAnotherConnectionIsMarked) {
    SendBuffer send_buffer{SenderOptions{}};
    bool wake = false;
    const Piece piece{as_data("bytes"), {}};
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(send_buffer.add({}, std::span(&piece, 1), false, wake).has_value());
    auto* first = send_buffer.next(enough);
    ASSERT_NE(first, nullptr);
    EXPECT_FALSE(first->meta.sent_elsewhere);
    send_buffer.sent(*first);
    send_buffer.rewind();
    EXPECT_TRUE(send_buffer.next(enough)->meta.sent_elsewhere);
    EXPECT_FALSE(send_buffer.next(enough)->meta.sent_elsewhere);  // it had not been sent
}

TEST(SendBuffer, AgreesWithAModelUnderRandomSendingAnswersAndReconnects) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937_64 random(seed);
    SendBuffer send_buffer{SenderOptions{}};
    std::uint64_t added = 0, highest_sent = 0;
    std::vector<bool> final(1, true);  // by sequence
    std::vector<SendBuffer::Held*> writing;
    std::vector<SendBuffer::Settled> settled;
    for (int step = 0; step < 20'000; ++step) {
        switch (random() % 6) {
            case 0:
                if (added - static_cast<std::uint64_t>(std::count(final.begin() + 1, final.end(), true)) < 50) {
                    EXPECT_EQ(number(put(send_buffer)), ++added);
                    final.push_back(false);
                }
                break;
            case 1:
                if (auto* event = send_buffer.next(enough)) {
                    EXPECT_FALSE(final[number(event->meta.sequence)]);
                    EXPECT_LE(event->meta.oldest_held, event->meta.sequence);
                    if (!writing.empty()) {
                        EXPECT_GT(event->meta.sequence, writing.back()->meta.sequence);
                    }
                    writing.push_back(event);
                }
                break;
            case 2:
                if (!writing.empty()) {
                    highest_sent = std::max(highest_sent, number(writing.front()->meta.sequence));
                    send_buffer.sent(*writing.front());
                    writing.erase(writing.begin());
                }
                break;
            case 3:
            case 4:
                if (highest_sent > 0) {
                    const auto first = random() % highest_sent + 1;
                    const auto last = std::min(highest_sent, first + random() % 3);
                    settled.clear();
                    std::uint64_t fresh = 0;
                    for (auto s = first; s <= last; ++s) {
                        fresh += final[s] ? 0U : 1U;
                        final[s] = true;
                    }
                    ASSERT_TRUE(send_buffer.acknowledge(range(first, last), settled));
                    ASSERT_EQ(settled.size(), fresh);
                }
                break;
            case 5:
                if (random() % 20 == 0) {
                    writing.clear();
                    send_buffer.rewind();
                }
                break;
        }
        const auto stats = send_buffer.stats();
        ASSERT_EQ(stats.accepted, added);
        ASSERT_EQ(stats.acknowledged + stats.held, added);
        ASSERT_EQ(stats.held, static_cast<std::uint64_t>(std::count(final.begin(), final.end(), false)));
    }
}

}  // namespace
}  // namespace weir::delivery
