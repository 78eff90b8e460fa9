// SPDX-License-Identifier: Apache-2.0
// The ids of the events of a run: what is taken, what is a duplicate, who waits for whom.
#include "weir/storage/unique_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "weir/wire/lane.hpp"

namespace weir::storage {
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
        UniqueEvents events(UniqueEvents::intervals_most);
        std::set<std::uint64_t> in_hand, durable;
        std::map<std::uint64_t, std::size_t> waiting;
        std::uint64_t next = 0;
        for (int step = 0; step < 1500; ++step) {
            const auto what = random() % 8;
            const auto n = what < 4 ? next++ : next - std::min<std::uint64_t>(next, random() % 40);
            if (what < 6) {
                const auto expected = durable.contains(n) ? Found::durable : in_hand.contains(n) ? Found::in_hand : Found::nothing;
                ASSERT_EQ(take(events, n), expected) << "seed " << seed << " step " << step << " id " << n;
                if (expected == Found::nothing) in_hand.insert(n);
                if (expected == Found::in_hand) {
                    ASSERT_TRUE(events.wait(id(n), streams, {}));
                    ++waiting[n];
                }
            } else if (!in_hand.empty()) {
                const auto end = *std::next(in_hand.begin(), static_cast<std::ptrdiff_t>(random() % in_hand.size()));
                const auto twins = what == 6 ? events.durable(id(end)) : events.lost(id(end));
                ASSERT_EQ(twins.size(), waiting[end]) << "seed " << seed << " step " << step << " id " << end;
                waiting.erase(end);
                in_hand.erase(end);
                if (what == 6) durable.insert(end);
            }
        }
        wire::SequenceSet all;
        for (const auto n : durable) all.insert(as_sequence(id(n)));
        EXPECT_EQ(events.take_changed().value_or(wire::SequenceSet{}), all);
        EXPECT_EQ(events.unchecked(), 0U);
    }
}

TEST(UniqueEvents, NobodyCanWaitForWhatIsNotInHand) {
    UniqueEvents events(8);
    EXPECT_FALSE(events.wait(id(1), streams, {}));
    EXPECT_EQ(take(events, 1), Found::nothing);
    EXPECT_TRUE(events.durable(id(1)).empty());
    EXPECT_FALSE(events.wait(id(1), streams, {}));
}

TEST(UniqueEvents, WhoeverComesFirstGoesOnWithAnEventThatHasStopped) {
    UniqueEvents events(8);
    ASSERT_EQ(take(events, 5), Found::nothing);
    ASSERT_TRUE(events.wait(id(5), streams, {7, Sequence{9}, {}}));
    const auto ticket = std::make_shared<Ticket>();
    const auto twins = events.stopped(id(5), {{1, ticket, false}, streams});
    ASSERT_EQ(twins.size(), 1U);  // it comes again: the sender of the first may be dead
    EXPECT_EQ(twins.front().lane, 7U);
    UniqueEvents::Left left;
    EXPECT_EQ(events.take(id(5), others, left), Found::in_hand);  // it could not finish what was begun for other streams
    EXPECT_TRUE(events.wait(id(5), others, {}));
    EXPECT_FALSE(events.wait(id(5), streams, {}));
    EXPECT_EQ(events.take(id(5), streams, left), Found::nothing);
    EXPECT_EQ(left.state.ticket, ticket);
    EXPECT_EQ(take(events, 5), Found::in_hand);
    EXPECT_EQ(events.durable(id(5)).size(), 1U);
    EXPECT_EQ(take(events, 5), Found::durable);
}

TEST(UniqueEvents, WhatIsThereOfALostEventIsSaidWhenItComesAgain) {
    UniqueEvents events(8);
    ASSERT_EQ(take(events, 0), Found::nothing);
    EXPECT_TRUE(events.lost(id(0), UniqueEvents::Left{{2, nullptr, true}, streams}).empty());
    UniqueEvents::Left left;
    ASSERT_EQ(events.take(id(0), others, left), Found::nothing);
    EXPECT_EQ(left.state.taken, 2U);
    EXPECT_EQ(left.streams, streams);
}

TEST(UniqueEvents, IdsThatLieTooScatteredAreTakenUncheckedAndTheOthersStillChecked) {
    UniqueEvents events(3);
    for (const auto n : {10UL, 20UL, 30UL}) ASSERT_EQ(take(events, n), Found::nothing);
    EXPECT_EQ(take(events, 40), Found::unchecked);
    EXPECT_EQ(take(events, 40), Found::unchecked);
    EXPECT_EQ(events.unchecked(), 2U);
    EXPECT_EQ(take(events, 11), Found::nothing);  // extends what is there
    EXPECT_EQ(take(events, 20), Found::in_hand);
    for (auto n = 12UL; n < 20; ++n) ASSERT_EQ(take(events, n), Found::nothing);
    EXPECT_EQ(take(events, 40), Found::nothing);  // two intervals have become one
    EXPECT_EQ(take(events, 40), Found::in_hand);
}

TEST(UniqueEvents, AnIdThatCannotBeKeptIsUnchecked) {
    UniqueEvents events(8);
    EXPECT_EQ(take(events, wire::sequence_max), Found::unchecked);
    EXPECT_EQ(take(events, ~std::uint64_t{0}), Found::unchecked);
    EXPECT_EQ(take(events, wire::sequence_max - 1), Found::nothing);
}

TEST(UniqueEvents, AMarkBringsTheIdsBack) {
    wire::SequenceSet ids;
    ids.insert({Sequence{1}, Sequence{400}});
    ids.insert(Sequence{wire::sequence_max});
    const auto mark = mark_of_events(ids, RunNumber{17}, "weir");
    EXPECT_TRUE(is_mark_of_events(mark));
    EXPECT_FALSE(wire::valid_sender_name(mark.sender));
    EXPECT_EQ(events_of(mark).value(), ids);
    auto damaged = mark;
    damaged.durable = "5-3";
    EXPECT_EQ(events_of(damaged).error().code, Errc::corrupt);
}

TEST(UniqueEvents, AMarkHasABoundThatFitsIntoTheCatalogue) {
    UniqueEvents events(UniqueEvents::intervals_most);
    EventHoldings holdings;
    constexpr std::uint64_t last = wire::sequence_max - 2;
    for (std::uint64_t i = UniqueEvents::intervals_most + 1; i > 0; --i) holdings.durable.insert(Sequence{last - 2 * i});
    events.restore(std::move(holdings));
    const auto changed = events.take_changed();
    ASSERT_TRUE(changed.has_value());
    EXPECT_EQ(changed->intervals().size(), UniqueEvents::intervals_most);
    EXPECT_LT(mark_of_events(*changed, RunNumber{17}, "weir").durable.size(), std::size_t{4} << 20);
    EXPECT_FALSE(events.take_changed().has_value());
}

TEST(UniqueEvents, TheUnionHasWhatEitherHas) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 100; ++round) {
        std::set<std::uint64_t> plain;
        std::array<wire::SequenceSet, 2> sets;
        for (auto& set : sets) {
            for (int i = 0; i < 30; ++i) {
                const auto n = 1 + random() % 60;
                plain.insert(n);
                set.insert(Sequence{n});
            }
        }
        wire::SequenceSet expected;
        for (const auto n : plain) expected.insert(Sequence{n});
        EXPECT_EQ(united(sets[0], sets[1]), expected);
    }
}

}  // namespace
}  // namespace weir::storage
