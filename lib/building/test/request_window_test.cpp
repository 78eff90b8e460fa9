// SPDX-License-Identifier: Apache-2.0
#include "weir/building/request_window.hpp"

#include <gtest/gtest.h>

namespace weir::building {
namespace {

using namespace std::chrono_literals;

constexpr RequestWindow::Limits limits{.shaping = true, .least = 64 << 10, .most = 4 << 20};

/// 256 answers of which some are lost, the shortest of them first.
void round(RequestWindow& window, int lost, std::chrono::nanoseconds trip) {
    for (int i = 0; i < 256; ++i) {
        if (i < lost) window.lost(0);
        else window.answered(0, i == lost ? 20us : trip);
    }
}

TEST(RequestWindow, ShrinksWhenAnswersGetLostAndTripsGetLonger) {
    RequestWindow window(limits);
    round(window, 10, 3ms);
    EXPECT_EQ(window.size(), 3U << 20);
    round(window, 0, 3ms);
    EXPECT_GT(window.size(), 3U << 20);
}

TEST(RequestWindow, DoesNotShrinkForLossAlone) {
    RequestWindow window(limits);
    for (int i = 0; i < 100; ++i) round(window, 20, 100us);
    EXPECT_EQ(window.size(), 4U << 20);
}

/// As a queue of that many bytes before a busy builder makes it: a trip of a microsecond a kilobyte.
std::chrono::nanoseconds trip_of(const RequestWindow& window) { return window.size() * 1ns; }

TEST(RequestWindow, GrowsAgainWhenAsMuchGetsLostWithAThirdOfIt) {
    for (const bool long_for_another_reason : {false, true}) {
        RequestWindow window(limits);
        std::uint64_t least = window.size();
        for (int i = 0; i < 100; ++i) {
            round(window, i % 2 == 0 ? 45 : 55, long_for_another_reason ? 3ms : trip_of(window));
            least = std::min(least, window.size());
        }
        EXPECT_LT(least, 4U << 20);
        EXPECT_GE(least, 1U << 20);
        EXPECT_EQ(window.size(), 4U << 20);
    }
}

TEST(RequestWindow, ShrinksAtOnceWhenMuchMoreGetsLostThanFromAnotherReason) {
    RequestWindow window(limits);
    for (int i = 0; i < 100; ++i) round(window, 10, trip_of(window));
    ASSERT_EQ(window.size(), 4U << 20);
    round(window, 60, trip_of(window));
    EXPECT_EQ(window.size(), 3U << 20);
}

TEST(RequestWindow, StaysAtWhatAQueueHoldsThatLosesTheRest) {
    RequestWindow window(limits);
    constexpr std::uint64_t queue = 1 << 20;
    std::uint64_t most = 0;
    for (int i = 0; i < 500; ++i) {
        // An answer that finds it full takes ten times as long as the others, until it counts as lost.
        const double too_many = window.size() > queue ? static_cast<double>(window.size() - queue) / queue : 0;
        round(window, static_cast<int>(256 * too_many / (10 + too_many)), trip_of(window));
        if (i > 10) most = std::max(most, window.size());
    }
    EXPECT_LE(most, queue * 5 / 4);
}

TEST(RequestWindow, StaysAtWhatAQueueHoldsWhenAFewGetLostForAnotherReasonToo) {
    RequestWindow window(limits);
    constexpr std::uint64_t queue = 1 << 20;
    std::uint64_t most = 0;
    for (int i = 0; i < 500; ++i) {
        const double too_many = window.size() > queue ? static_cast<double>(window.size() - queue) / queue : 0;
        round(window, 2 + static_cast<int>(256 * too_many / (10 + too_many)), trip_of(window));
        if (i > 10) most = std::max(most, window.size());
    }
    EXPECT_LE(most, queue * 5 / 4);
}

TEST(RequestWindow, ShrinksToItsLeastWhileTheSocketOverflows) {
    RequestWindow window(limits);
    for (int i = 0; i < 40; ++i) {
        window.overflowed();
        round(window, 20, 3ms);
    }
    EXPECT_EQ(window.size(), limits.least);
}

}  // namespace
}  // namespace weir::building
