// SPDX-License-Identifier: Apache-2.0
// Which batches of several threads count, and what is made of them.
#include <gtest/gtest.h>

#include "peers/windows.hpp"
#include "serialize/serialize_points.hpp"

namespace weir::app {
namespace {

using jobs::Window;

TEST(SerializeWindows, OneThreadAlwaysOverlapsWithItself) { EXPECT_EQ(jobs::overlap_of({{1.0, 2.0}}), 1.0); }

TEST(SerializeWindows, ThreadsThatRanOneAfterAnotherDoNotOverlap) {
    EXPECT_EQ(jobs::overlap_of({{0.0, 1.0}, {1.0, 2.0}}), 0.0);
    EXPECT_EQ(jobs::overlap_of({{0.0, 1.0}, {5.0, 6.0}}), 0.0);
}

TEST(SerializeWindows, TheOverlapIsThePartOfTheWholeTimeInWhichAllRan) {
    EXPECT_DOUBLE_EQ(jobs::overlap_of({{0.0, 1.0}, {0.25, 1.0}}), 0.75);
    EXPECT_DOUBLE_EQ(jobs::overlap_of({{0.0, 1.0}, {0.0, 0.5}, {0.25, 1.0}}), 0.25);  // two pairs are not all three
}

TEST(SerializeWindows, NoWindowsOrEmptyOnesAreNoOverlap) {
    EXPECT_EQ(jobs::overlap_of({}), 0.0);
    EXPECT_EQ(jobs::overlap_of({{1.0, 1.0}, {1.0, 1.0}}), 0.0);
}

TEST(SerializeFigures, ABatchThatTheNeighbourTookApartDoesNotCountHoweverFastItLooks) {
    // The first and third batch fight over a line and take 4 s; in the second one thread ran after the other, at full
    // speed.
    const auto figures = jobs::figures_of({{{0, 4}, {0, 4}}, {{10, 11}, {10.9, 11.9}}, {{20, 25}, {20, 25}}}, 10);
    EXPECT_EQ(figures.taken, 3U);
    EXPECT_EQ(figures.counted, 2U);
    EXPECT_DOUBLE_EQ(figures.best, 0.4);
    EXPECT_DOUBLE_EQ(figures.median, 0.5);
}

TEST(SerializeFigures, ABatchThatJustOverlapsEnoughTakesAsLongAsItsThreadsTogether) {
    const auto figures = jobs::figures_of({{{0, 9.5}, {0.5, 10}}}, 1);
    EXPECT_EQ(figures.counted, 1U);
    EXPECT_DOUBLE_EQ(figures.best, 10);  // not 9.5
    EXPECT_EQ(jobs::figures_of({{{0, 9}, {0.5, 10}}}, 1).counted, 0U);
}

TEST(SerializePoints, ScalingComparesWhatAllThreadsDoWithWhatOneDoes) {
    SerializePoint one{.candidate = "c", .subject = "10", .visits = {{2e-9, 4e-9, 5, 5}, {3e-9, 3e-9, 5, 5}}};
    SerializePoint two{.candidate = "c", .subject = "10", .threads = 2, .visits = {{0, 0, 0, 5}, {4e-9, 12e-9, 2, 5}}};
    EXPECT_DOUBLE_EQ(scaling(one, two), 1.0);
    const auto visits = scaling_of_visits(one, two);
    EXPECT_EQ(visits.runs, 1U);  // in the other nothing overlapped
    EXPECT_DOUBLE_EQ(visits.median, 0.5);
}

TEST(SerializePoints, APointOfWhichNoBatchCountsIsNotThere) {
    const SerializePoints points{{.candidate = "c", .subject = "10", .visits = {{0, 0, 0, 20}}}};
    EXPECT_EQ(find_point(points, "c", "10", true), nullptr);
    EXPECT_TRUE(serialize_rows(points).empty());
}

}  // namespace
}  // namespace weir::app
