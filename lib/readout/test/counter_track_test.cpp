// SPDX-License-Identifier: Apache-2.0
#include "datagrams/counter_track.hpp"

#include <gtest/gtest.h>

namespace weir::readout {
namespace {

CounterStep take(CounterTrack& track, std::uint32_t counter) { return track.take(track.extended(counter)); }

TEST(CounterTrack, A16BitCounterIsExtendedOverManyWraps) {
    CounterTrack track(16, 1);
    for (std::uint32_t event = 1; event <= 300'000; ++event) {
        ASSERT_EQ(track.extended(event & 0xffff), event);
        ASSERT_EQ(take(track, event & 0xffff), CounterStep::fresh);
    }
    EXPECT_EQ(track.lost(), 0U);
    EXPECT_EQ(track.jumps(), 0U);
}

TEST(CounterTrack, A32BitCounterWrapsAsTheLevel1IdDoes) {
    CounterTrack track(32, 0xffff'fff0);
    for (std::uint32_t event = 0xffff'fff0; event != 0x20; ++event) ASSERT_EQ(take(track, event), CounterStep::fresh);
    EXPECT_EQ(track.lost(), 0U);
}

TEST(CounterTrack, WhatIsPassedOverIsLostUntilItComes) {
    CounterTrack track(24, 1);
    EXPECT_EQ(take(track, 3), CounterStep::fresh);
    EXPECT_EQ(track.lost(), 2U);
    EXPECT_EQ(take(track, 2), CounterStep::fresh);
    EXPECT_EQ(take(track, 2), CounterStep::seen);
    EXPECT_EQ(take(track, 3), CounterStep::seen);
    EXPECT_EQ(track.lost(), 1U);
    EXPECT_EQ(track.disordered(), 1U);
    for (std::uint32_t event = 5000; event >= 4999; --event) EXPECT_EQ(take(track, event), CounterStep::jumped);
    EXPECT_EQ(take(track, 5000), CounterStep::fresh) << "a long loss, once a second value goes on";
    EXPECT_EQ(take(track, 1), CounterStep::old);
    EXPECT_EQ(track.lost(), 1U + 4995U) << "4 to 4998";
    EXPECT_EQ(track.jumps(), 0U);
}

TEST(CounterTrack, OneDamagedValueAtAnyDistanceCostsNoOther) {
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
        CounterTrack track(32, 1);
        for (std::uint32_t event = 1; event <= 3000; ++event) {
            if (event == 2000) static_cast<void>(track.take(event ^ 1U << bit));
            else
                ASSERT_TRUE(track.take(event) == CounterStep::fresh || event == (2000 ^ 1U << bit))
                    << bit << " " << event;
        }
        EXPECT_EQ(track.lost(), 1U) << bit;
        EXPECT_EQ(track.jumps(), 0U) << bit;
    }
}

TEST(CounterTrack, OneWildValueMovesNothingAndTwoThatGoOnAreAJumpAndNoLoss) {
    CounterTrack track(32, 1);
    for (std::uint32_t event = 1; event <= 10; ++event) ASSERT_EQ(take(track, event), CounterStep::fresh);
    EXPECT_EQ(take(track, 0x4000'0000), CounterStep::jumped);
    EXPECT_EQ(take(track, 0x4000'0000), CounterStep::jumped);
    EXPECT_EQ(take(track, 11), CounterStep::fresh);
    EXPECT_EQ(take(track, 0x4000'0001), CounterStep::fresh);
    EXPECT_EQ(take(track, 0x4000'0003), CounterStep::fresh);
    EXPECT_EQ(track.jumps(), 1U);
    EXPECT_EQ(track.lost(), 1U) << "the one that was passed over; the first came, and was refused";
    EXPECT_EQ(take(track, 0x4000'0000), CounterStep::seen);
    EXPECT_EQ(take(track, 0x3fff'ffff), CounterStep::old) << "of no count that goes on";
}

TEST(CounterTrack, ASourceThatWasSilentForLongerThanItsCounterLastsIsExtendedFromTheOthers) {
    CounterTrack track(16, 1);
    EXPECT_EQ(take(track, 1), CounterStep::fresh);
    track.reach(200'000);
    EXPECT_EQ(track.extended(200'001 & 0xffff), 200'001U);
    EXPECT_EQ(take(track, 200'001 & 0xffff), CounterStep::fresh);
    EXPECT_EQ(track.lost(), 199'999U);
}

TEST(CounterTrack, ACounterOf32BitsThatWasResetStaysWhereItCounts) {
    CounterTrack track(32, 1);
    for (std::uint32_t value = 1; value <= 100'000; ++value) ASSERT_EQ(take(track, value), CounterStep::fresh);
    EXPECT_EQ(take(track, 1), CounterStep::jumped);
    EXPECT_EQ(take(track, 2), CounterStep::fresh);
    track.reach(100'010);
    EXPECT_EQ(take(track, 3), CounterStep::fresh);
    EXPECT_EQ(track.jumps(), 1U);
    EXPECT_EQ(track.lost(), 0U);
}

/// What a counter is taken for that has counted to `end` and begins anew at 1: its first two steps.
std::pair<CounterStep, CounterStep> anew(CounterTrack& track, std::uint32_t end) {
    for (std::uint32_t value = end - 2000; value <= end; ++value) EXPECT_EQ(take(track, value), CounterStep::fresh);
    const auto first = take(track, 1);
    return {first, take(track, 2)};
}

TEST(CounterTrack, OneThatBeginsAnewIsOldOrJumpsAndAShortOneBeforeItsEndLooksLikeALoss) {
    CounterTrack near(32, 60'000 - 2000), far(32, 100'000 - 2000), before_its_end(16, 60'000 - 2000);
    EXPECT_EQ(anew(near, 60'000), (std::pair{CounterStep::old, CounterStep::old}));
    EXPECT_EQ(near.jumps(), 0U);
    EXPECT_EQ(anew(far, 100'000), (std::pair{CounterStep::jumped, CounterStep::fresh}));
    EXPECT_EQ(far.jumps(), 1U);
    EXPECT_EQ(anew(before_its_end, 60'000), (std::pair{CounterStep::jumped, CounterStep::fresh}));
    EXPECT_EQ(before_its_end.jumps(), 0U);
    EXPECT_EQ(before_its_end.newest(), 0x1'0002U) << "nothing in its datagrams tells the two from one another";
}

}  // namespace
}  // namespace weir::readout
