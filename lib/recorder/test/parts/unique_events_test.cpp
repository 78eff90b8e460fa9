// SPDX-License-Identifier: Apache-2.0
// The ids of the events of a run: what is taken, what is a duplicate, who waits for whom.
#include "settlement/unique_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weir/recovery/marks.hpp"
#include "weir/wire/session.hpp"

namespace weir::recorder {
namespace {

using Found = UniqueEvents::Found;

constexpr std::uint64_t streams = 1, others = 3;

GlobalEventId id(std::uint64_t n) { return GlobalEventId{n}; }

Found take(UniqueEvents& events, std::uint64_t n) {
    UniqueEvents::Left left;
    return events.take(id(n), streams, left);
}

TEST(UniqueEvents, AnyCourseOfEventsIsAsWithPlainSets) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        std::mt19937_64 random(seed);
        UniqueEvents events(1_MiB);
        std::set<std::uint64_t> in_hand, durable;
        std::map<std::uint64_t, std::size_t> waiting;
        std::uint64_t next = 0;
        for (int step = 0; step < 1500; ++step) {
            const auto what = random() % 8;
            const auto n = what < 4 ? next++ : next - std::min<std::uint64_t>(next, random() % 40);
            if (what < 6) {
                const auto expected = durable.contains(n)   ? Found::durable
                                      : in_hand.contains(n) ? Found::in_hand
                                                            : Found::nothing;
                ASSERT_EQ(take(events, n), expected) << "seed " << seed << " step " << step << " id " << n;
                if (expected == Found::nothing) in_hand.insert(n);
                if (expected == Found::in_hand) {
                    ASSERT_TRUE(events.wait(id(n), streams, {}));
                    ++waiting[n];
                }
            } else if (!in_hand.empty()) {
                const auto end = *std::next(in_hand.begin(), static_cast<std::ptrdiff_t>(random() % in_hand.size()));
                const auto duplicates = what == 6 ? events.durable(id(end)) : events.lost(id(end));
                ASSERT_EQ(duplicates.size(), waiting[end]) << "seed " << seed << " step " << step << " id " << end;
                waiting.erase(end);
                in_hand.erase(end);
                if (what == 6) durable.insert(end);
            }
        }
        wire::EventIdSet all;
        for (const auto n : durable) all.insert(id(n));
        EXPECT_EQ(events.stored(), all);
        EXPECT_EQ(events.unchecked(), 0U);
    }
}

TEST(UniqueEvents, ADuplicateCannotWaitForWhatIsNotInHand) {
    UniqueEvents events(64_KiB);
    EXPECT_FALSE(events.wait(id(1), streams, {}));
    EXPECT_EQ(take(events, 1), Found::nothing);
    EXPECT_TRUE(events.durable(id(1)).empty());
    EXPECT_FALSE(events.wait(id(1), streams, {}));
}

TEST(UniqueEvents, TheFirstToComeGoesOnWithAnEventThatHasStopped) {
    UniqueEvents events(64_KiB);
    ASSERT_EQ(take(events, 5), Found::nothing);
    ASSERT_TRUE(events.wait(id(5), streams, {7, Sequence{9}, {}}));
    const auto ticket = std::make_shared<Ticket>();
    const auto duplicates = events.stopped(id(5), {{1, ticket, false}, streams});
    ASSERT_EQ(duplicates.size(), 1U);  // it comes again: the sender of the first may be dead
    EXPECT_EQ(duplicates.front().session, 7U);
    UniqueEvents::Left left;
    EXPECT_EQ(events.take(id(5), others, left),
              Found::in_hand);  // it could not finish what was begun for other streams
    EXPECT_TRUE(events.wait(id(5), others, {}));
    EXPECT_FALSE(events.wait(id(5), streams, {}));
    EXPECT_EQ(events.take(id(5), streams, left), Found::nothing);
    EXPECT_EQ(left.state.ticket, ticket);
    EXPECT_EQ(take(events, 5), Found::in_hand);
    EXPECT_EQ(events.durable(id(5)).size(), 1U);
    EXPECT_EQ(take(events, 5), Found::durable);
}

TEST(UniqueEvents, WhatIsThereOfALostEventIsKnownWhenItComesAgain) {
    UniqueEvents events(64_KiB);
    ASSERT_EQ(take(events, 0), Found::nothing);
    EXPECT_TRUE(events.lost(id(0), UniqueEvents::Left{{2, nullptr, true}, streams}).empty());
    UniqueEvents::Left left;
    ASSERT_EQ(events.take(id(0), others, left), Found::nothing);
    EXPECT_EQ(left.state.taken, 2U);
    EXPECT_EQ(left.streams, streams);
}

TEST(UniqueEvents, BeyondTheirMemoryIdsAreTakenUncheckedAndTheOthersStillChecked) {
    UniqueEvents events(1_KiB);
    std::uint64_t known = 0;
    for (std::uint64_t n = 0; n < 20 && take(events, n << 20) == Found::nothing; ++n) ++known;
    EXPECT_GE(events.memory(), 1_KiB);
    EXPECT_LT(events.memory(), Bytes{1024 + 200});
    ASSERT_GE(known, 8U);
    ASSERT_LT(known, 10U);
    EXPECT_EQ(events.unchecked(), 1U);
    EXPECT_EQ(take(events, 77), Found::unchecked);
    EXPECT_EQ(events.unchecked(), 2U);
    for (std::uint64_t n = 0; n < known; ++n) EXPECT_EQ(take(events, n << 20), Found::in_hand);
    EXPECT_TRUE(events.durable(id(0)).empty());
    EXPECT_EQ(take(events, 0), Found::durable);
    EXPECT_TRUE(events.lost(id(1 << 20)).empty());
    EXPECT_EQ(take(events, 77), Found::nothing);  // there is memory again
}

TEST(UniqueEvents, OfAHundredMillionEventsWithRandomRejectionAPartTakesItsShareOfTheMemory) {
    // A thousandth of them: 10^8 in 512 MiB are 5.3 bytes each.
    for (const std::uint64_t one_of : {1U, 2U, 16U, 100U, 1000U}) {
        std::mt19937_64 random(one_of);
        UniqueEvents events(512_KiB);
        std::uint64_t next = 0;
        std::vector<std::uint64_t> in_hand;
        for (std::uint64_t n = 0; n < 100'000; ++n) {
            next += one_of == 1 ? 1 : 1 + random() % (2 * one_of - 1);
            ASSERT_EQ(take(events, next), Found::nothing) << one_of;
            in_hand.push_back(next);
            if (in_hand.size() < 1000) continue;
            for (const auto i : in_hand) EXPECT_TRUE(events.durable(id(i)).empty());
            in_hand.clear();
        }
        EXPECT_EQ(events.unchecked(), 0U) << one_of;
        EXPECT_EQ(events.stored_count(), 100'000U);
    }
}

TEST(UniqueEvents, TheHighestIdsAreKeptToo) {
    UniqueEvents events(64_KiB);
    EXPECT_EQ(take(events, ~std::uint64_t{0}), Found::nothing);
    EXPECT_EQ(take(events, ~std::uint64_t{0}), Found::in_hand);
    EXPECT_TRUE(events.durable(id(~std::uint64_t{0})).empty());
    EXPECT_EQ(take(events, ~std::uint64_t{0}), Found::durable);
}

TEST(UniqueEvents, MarksBringTheIdsBackAndOneThatIsNotOfItsChunkIsRefused) {
    wire::EventIdSet ids;
    ids.insert(wire::EventIdRange{id(1), id(400'000)});
    ids.insert(id(~std::uint64_t{0}));
    const auto marks = recovery::marks_of_events({ids, {}, {}}, RunNumber{17}, "weir");
    ASSERT_EQ(marks.size(), 8U);
    wire::EventIdSet again;
    for (const auto& mark : marks) {
        EXPECT_TRUE(recovery::is_mark_of_events(mark));
        EXPECT_FALSE(wire::valid_sender_name(mark.sender));
        again |= recovery::events_of(mark).value();
    }
    EXPECT_EQ(again, ids);
    EXPECT_EQ(marks[1].incarnation, "000000000001");
    auto damaged = marks[1];
    damaged.durable = "5-3";
    EXPECT_EQ(recovery::events_of(damaged).error().code, Errc::corrupt);
    damaged.durable = marks[2].durable;
    EXPECT_EQ(recovery::events_of(damaged).error().code, Errc::corrupt);
}

TEST(UniqueEvents, OnlyChunksThatHaveChangedAreMarkedAgain) {
    const auto chunks = [](const std::vector<catalogue::SessionMark>& marks) {
        std::set<std::string> all;
        for (const auto& mark : marks) all.insert(mark.incarnation);
        return all;
    };
    UniqueEvents events(1_MiB);
    recovery::EventHoldings holdings;
    holdings.durable.insert(wire::EventIdRange{id(0), id(400'000)});
    holdings.marked.insert(wire::EventIdRange{id(0), id(200'000)});  // chunks 0 to 2, and a part of 3
    EXPECT_EQ(chunks(recovery::marks_of_events(holdings, RunNumber{17}, "weir")),
              (std::set<std::string>{"000000000000", "000000000003", "000000000004", "000000000005", "000000000006"}));
    events.restore(std::move(holdings));
    EXPECT_EQ(events.take_changed(RunNumber{17}, "weir").size(), 5U);  // and chunk 0, which marks that the ids are kept
    EXPECT_TRUE(events.take_changed(RunNumber{17}, "weir").empty());
    for (const auto n : {500'000UL, 500'001UL, 1'000'000UL}) ASSERT_EQ(take(events, n), Found::nothing);
    EXPECT_TRUE(events.take_changed(RunNumber{17}, "weir").empty());
    EXPECT_TRUE(events.durable(id(500'001)).empty());
    const auto marks = events.take_changed(RunNumber{17}, "weir");
    ASSERT_EQ(marks.size(), 1U);
    EXPECT_EQ(marks.front().durable, "500001");
    EXPECT_TRUE(events.lost(id(500'000)).empty());
    EXPECT_TRUE(events.take_changed(RunNumber{17}, "weir").empty());
}

}  // namespace
}  // namespace weir::recorder
