// SPDX-License-Identifier: Apache-2.0
#include "weir/service/event_ids.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace weir {
namespace {

EventIds ids(std::string_view text) { return EventIds::parse(text).value_or(EventIds{}); }

TEST(EventIds, TheirTextIsReadBackAndIdZeroIsOne) {
    EventIds some;
    for (const auto id : {7, 0, 1, 2, 9}) some.insert(GlobalEventId{static_cast<std::uint64_t>(id)});
    EXPECT_EQ(some.text(), "0-2,7,9");
    EXPECT_EQ(ids("0-2,7,9"), some);
    EXPECT_EQ(some.count(), 5U);
    EXPECT_EQ(ids("").text(), "");
}

TEST(EventIds, WhatIsNoSetIsRefused) {
    for (const auto* text : {"a", "1-", "-1", "3-2", "1,,2", "5,4", "1-3,3", "9223372036854775807", "1;2"})
        EXPECT_FALSE(EventIds::parse(text)) << text;
}

TEST(EventIds, SetsAreComparedAsTheirIdsAre) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
        std::set<std::uint64_t> a, b;
        EventIds x, y;
        for (int i = 0; i < 40; ++i) {
            const auto p = random() % 60, q = random() % 60;
            a.insert(p);
            x.insert(GlobalEventId{p});
            b.insert(q);
            y.insert(GlobalEventId{q});
        }
        EventIds both, either, only;
        for (std::uint64_t id = 0; id < 60; ++id) {
            if (a.contains(id) && b.contains(id)) both.insert(GlobalEventId{id});
            if (a.contains(id) || b.contains(id)) either.insert(GlobalEventId{id});
            if (a.contains(id) && !b.contains(id)) only.insert(GlobalEventId{id});
        }
        EXPECT_EQ(x & y, both);
        EXPECT_EQ(x | y, either);
        EXPECT_EQ(x - y, only);
    }
}

TEST(EventIds, BeyondTheirBoundNothingIsKnown) {
    EventIds some;
    for (std::uint64_t i = 0; i <= EventIds::intervals_max; ++i) some.insert(GlobalEventId{2 * i});
    EXPECT_FALSE(some.known());
    EXPECT_TRUE(some.empty());
    EXPECT_FALSE((ids("1-3") - some).known());
    EventIds high;
    high.insert(GlobalEventId{~std::uint64_t{0}});
    EXPECT_FALSE(high.known());
}

}  // namespace
}  // namespace weir
