// SPDX-License-Identifier: Apache-2.0
#include "outbox.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "weir/base/testing/number_in_environment.hpp"

namespace weir::delivery {
namespace {

using wire::RejectReason;
constexpr auto enough = std::numeric_limits<std::uint64_t>::max();

Sequence put(Outbox& outbox, std::string_view payload = "payload") {
    bool wake = false;
    const Piece piece{as_data(payload), nullptr};
    return **outbox.add({}, std::span(&piece, 1), false, wake);
}

wire::SequenceRange range(std::uint64_t first, std::uint64_t last) { return {Sequence{first}, Sequence{last}}; }

TEST(Outbox, GivesEventsInOrderAndOnlyWhatCreditCovers) {
    Outbox outbox{SenderOptions{}};
    put(outbox);
    put(outbox);
    EXPECT_EQ(outbox.next(10), nullptr);
    auto* first = outbox.next(enough);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->meta.sequence, Sequence{1});
    const auto cost = first->head.size() + first->size;
    EXPECT_EQ(outbox.next(cost - 1), nullptr);
    EXPECT_EQ(outbox.next(cost)->meta.sequence, Sequence{2});
    EXPECT_EQ(outbox.next(enough), nullptr);
}

TEST(Outbox, WakesTheIoThreadOnlyWhenItSleeps) {
    Outbox outbox{SenderOptions{}};
    bool wake = false;
    const Piece piece{as_data("x"), nullptr};
    ASSERT_TRUE(outbox.add({}, std::span(&piece, 1), false, wake).has_value());
    EXPECT_FALSE(wake);
    static_cast<void>(outbox.next(enough));
    EXPECT_EQ(outbox.next(enough), nullptr);  // nothing left: it goes to sleep
    ASSERT_TRUE(outbox.add({}, std::span(&piece, 1), false, wake).has_value());
    EXPECT_TRUE(wake);
    ASSERT_TRUE(outbox.add({}, std::span(&piece, 1), false, wake).has_value());
    EXPECT_FALSE(wake);
}

TEST(Outbox, WhatAnEarlierProcessOfTheSessionHasSentIsAnsweredWhenItWasSentAgain) {
    Outbox outbox{SenderOptions{.incarnation = 1, .first_sequence = Sequence{3}, .replays = true}};
    std::vector<Outbox::Settled> settled;
    EXPECT_TRUE(outbox.acknowledge(range(1, 5), settled));  // what WELCOME says
    EXPECT_TRUE(outbox.reject(Sequence{4}, RejectReason::late, settled));
    EXPECT_EQ(put(outbox), Sequence{3});
    put(outbox);
    EXPECT_TRUE(settled.empty());
    outbox.sent(*outbox.next(enough));
    EXPECT_TRUE(outbox.acknowledge(range(1, 5), settled));
    ASSERT_EQ(settled.size(), 1U);
    EXPECT_EQ(settled[0].sequence, Sequence{3});
    outbox.sent(*outbox.next(enough));
    EXPECT_TRUE(outbox.reject(Sequence{4}, RejectReason::late, settled));
    EXPECT_EQ(settled.size(), 2U);
}

TEST(Outbox, ARejectionThatIsToldBeforeTheEventCameAgainIsNotTakenForAnAcknowledgement) {
    Outbox outbox{SenderOptions{.incarnation = 1, .replays = true}};
    std::vector<Outbox::Settled> settled;
    EXPECT_TRUE(outbox.reject(Sequence{2}, RejectReason::bad_tag, settled));  // right behind WELCOME
    put(outbox);
    put(outbox);
    outbox.sent(*outbox.next(enough));
    outbox.sent(*outbox.next(enough));
    EXPECT_TRUE(outbox.acknowledge(range(1, 2), settled));  // of the process before; our own 2 has not arrived yet
    ASSERT_EQ(settled.size(), 2U);
    EXPECT_FALSE(settled[0].rejected.has_value());
    EXPECT_EQ(settled[1].rejected, RejectReason::bad_tag);
}

TEST(Outbox, AnAnswerForWhatWasNeverSentIsRefused) {
    Outbox outbox{SenderOptions{}};
    std::vector<Outbox::Settled> settled;
    put(outbox);
    put(outbox);
    EXPECT_FALSE(outbox.acknowledge(range(1, 1), settled));
    outbox.sent(*outbox.next(enough));
    EXPECT_FALSE(outbox.acknowledge(range(1, 2), settled));
    EXPECT_FALSE(outbox.reject(Sequence{2}, RejectReason::late, settled));
    EXPECT_TRUE(settled.empty());
    EXPECT_TRUE(outbox.acknowledge(range(1, 1), settled));
    EXPECT_EQ(settled.size(), 1U);
    EXPECT_TRUE(outbox.acknowledge(range(1, 1), settled));  // repeated: no harm
    EXPECT_EQ(settled.size(), 1U);
}

TEST(Outbox, AnEventAnsweredWhileItIsSentAgainKeepsItsBytesUntilTheyAreOut) {
    Outbox outbox{SenderOptions{}};
    std::vector<Outbox::Settled> settled;
    bool gone = false;
    const auto owner = [&gone](const void*) { gone = true; };
    {
        bool wake = false;
        const Piece piece{as_data("bytes"), std::shared_ptr<const void>("bytes", owner)};
        ASSERT_TRUE(outbox.add({}, std::span(&piece, 1), false, wake).has_value());
    }
    outbox.sent(*outbox.next(enough));
    outbox.rewind();
    auto* again = outbox.next(enough);
    ASSERT_NE(again, nullptr);
    EXPECT_TRUE(outbox.acknowledge(range(1, 1), settled));
    outbox.release_settled();
    EXPECT_FALSE(gone);
    EXPECT_EQ(as_text(again->payload.at(0).data), "bytes");
    outbox.sent(*again);
    outbox.release_settled();
    EXPECT_TRUE(gone);
    EXPECT_EQ(outbox.stats().resent, 1U);
    EXPECT_EQ(outbox.oldest_held(), Sequence{2});
}

TEST(Outbox, FlushSaysOfNoEventThatItIsFinalAfterItWasTakenBack) {
    Outbox outbox{SenderOptions{}};
    std::vector<Outbox::Settled> settled;
    put(outbox);
    outbox.sent(*outbox.next(enough));
    ASSERT_TRUE(outbox.acknowledge(range(1, 1), settled));
    outbox.reported(1);
    outbox.give_up({Errc::refused, 0, "the sender is closed"});
    EXPECT_TRUE(outbox.take_back().empty());
    EXPECT_TRUE(outbox.flush({}).value()) << "all were final";

    Outbox another{SenderOptions{}};
    put(another);
    another.give_up({Errc::refused, 0, "the sender is closed"});
    EXPECT_EQ(another.take_back().size(), 1U);
    EXPECT_FALSE(another.flush({}).has_value());
    EXPECT_EQ(another.stats().taken_back, 1U);
    EXPECT_EQ(another.stats().released, 0U);
}

/// Between any two steps of releasing them, as the owner of a released payload sees it.
TEST(Outbox, FlushSaysOfNoEventThatItIsFinalWhileAllAreReleased) {
    Outbox outbox{SenderOptions{}};
    std::vector<Outbox::Settled> settled;
    int looks = 0;
    const auto owner = [&](const void*) {
        ++looks;
        EXPECT_FALSE(outbox.flush({}).has_value());
        const auto stats = outbox.stats();
        EXPECT_EQ(stats.accepted, stats.acknowledged + stats.held + stats.taken_back + stats.released);
    };
    for (int i = 0; i < 2; ++i) {
        bool wake = false;
        const Piece piece{as_data("bytes"), std::shared_ptr<const void>("bytes", owner)};
        ASSERT_TRUE(outbox.add({}, std::span(&piece, 1), false, wake).has_value());
    }
    outbox.sent(*outbox.next(enough));
    ASSERT_TRUE(outbox.acknowledge(range(1, 1), settled));
    outbox.reported(1);
    outbox.give_up({Errc::refused, 0, "the sender is closed"});
    outbox.release_all();
    EXPECT_EQ(looks, 2);
    EXPECT_EQ(outbox.stats().released, 1U);
    EXPECT_EQ(outbox.stats().taken_back, 0U);
}

/// Within the lock its owner's call would wait for ever.
TEST(Outbox, APayloadThatIsFinalAndWasStillBeingSentIsReleasedWithoutTheLock) {
    for (const bool close : {false, true}) {
        Outbox outbox{SenderOptions{}};
        std::vector<Outbox::Settled> settled;
        std::uint64_t acknowledged = 0;
        const auto owner = [&](const void*) { acknowledged = outbox.stats().acknowledged; };
        {
            bool wake = false;
            const Piece piece{as_data("bytes"), std::shared_ptr<const void>("bytes", owner)};
            ASSERT_TRUE(outbox.add({}, std::span(&piece, 1), false, wake).has_value());
        }
        outbox.sent(*outbox.next(enough));
        outbox.rewind();
        ASSERT_NE(outbox.next(enough), nullptr);
        ASSERT_TRUE(outbox.acknowledge(range(1, 1), settled));
        if (close) outbox.release_all();
        else EXPECT_TRUE(outbox.take_back().empty());
        EXPECT_EQ(acknowledged, 1U);
    }
}

TEST(Outbox, WhatIsSentAgainOverAnotherConnectionIsMarked) {
    Outbox outbox{SenderOptions{}};
    bool wake = false;
    const Piece piece{as_data("bytes"), {}};
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(outbox.add({}, std::span(&piece, 1), false, wake).has_value());
    auto* first = outbox.next(enough);
    ASSERT_NE(first, nullptr);
    EXPECT_FALSE(first->meta.sent_elsewhere);
    outbox.sent(*first);
    outbox.rewind();
    EXPECT_TRUE(outbox.next(enough)->meta.sent_elsewhere);
    EXPECT_FALSE(outbox.next(enough)->meta.sent_elsewhere);  // it had not left
}

TEST(Outbox, AgreesWithAModelUnderRandomSendingAnswersAndReconnects) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937_64 random(seed);
    Outbox outbox{SenderOptions{}};
    std::uint64_t added = 0, highest_sent = 0;
    std::vector<bool> final(1, true);  // by sequence
    std::vector<Outbox::Held*> writing;
    std::vector<Outbox::Settled> settled;
    for (int step = 0; step < 20'000; ++step) {
        switch (random() % 6) {
            case 0:
                if (added - static_cast<std::uint64_t>(std::count(final.begin() + 1, final.end(), true)) < 50) {
                    EXPECT_EQ(number(put(outbox)), ++added);
                    final.push_back(false);
                }
                break;
            case 1:
                if (auto* event = outbox.next(enough)) {
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
                    outbox.sent(*writing.front());
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
                    ASSERT_TRUE(outbox.acknowledge(range(first, last), settled));
                    ASSERT_EQ(settled.size(), fresh);
                }
                break;
            case 5:
                if (random() % 20 == 0) {
                    writing.clear();
                    outbox.rewind();
                }
                break;
        }
        const auto stats = outbox.stats();
        ASSERT_EQ(stats.accepted, added);
        ASSERT_EQ(stats.acknowledged + stats.held, added);
        ASSERT_EQ(stats.held, static_cast<std::uint64_t>(std::count(final.begin(), final.end(), false)));
    }
}

}  // namespace
}  // namespace weir::delivery
