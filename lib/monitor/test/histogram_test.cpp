// SPDX-License-Identifier: Apache-2.0
#include "weir/monitor/histogram.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace weir::monitor {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Axis, FindsBinsOfOneWidthAndOfSeveralAlike) {
    const Axis same(4, 0, 4);
    const Axis several(std::vector<double>{0, 1, 2, 3, 4});
    std::mt19937 random(7);
    std::uniform_real_distribution<double> values(-1, 5);
    for (int i = 0; i < 10'000; ++i) {
        const auto value = values(random);
        EXPECT_EQ(same.find(value), several.find(value)) << value;
    }
    for (const auto& axis : {same, several}) {
        EXPECT_EQ(axis.find(-infinity), 0U);
        EXPECT_EQ(axis.find(0), 1U);
        EXPECT_EQ(axis.find(std::nextafter(4.0, 0)), 4U);
        EXPECT_EQ(axis.find(4), 5U);
        EXPECT_EQ(axis.find(infinity), 5U);
        EXPECT_EQ(axis.find(nan), 5U);
    }
}

TEST(Axis, AValueJustBelowTheEndIsInTheLastBinWhateverIsRounded) {
    for (const std::uint32_t bins : {1U, 3U, 7U, 100U, 999'983U})
        for (const double high : {0.1, 1.0, 3.3, 1e300})
            EXPECT_LE(Axis(bins, -high / 3, high).find(std::nextafter(high, 0)), bins) << bins << " " << high;
}

TEST(Axis, WhatIsNoneIsNamed) {
    EXPECT_EQ(Axis(10, 0, 1).fault(), nullptr);
    EXPECT_EQ(Axis::of_edges({0, 1, 5}).fault(), nullptr);
    EXPECT_NE(Axis(0, 0, 1).fault(), nullptr);
    EXPECT_NE(Axis(10, 1, 1).fault(), nullptr);
    EXPECT_NE(Axis(10, 0, nan).fault(), nullptr);
    EXPECT_NE(Axis(10, -1e308, 1e308).fault(), nullptr);
    EXPECT_NE(Axis::of_edges({0, 1, 1}).fault(), nullptr);
    EXPECT_NE(Axis::of_edges({0, nan, 2}).fault(), nullptr);
    EXPECT_NE(Axis(std::vector<double>{3}).fault(), nullptr);
}

TEST(Histogram, KeepsContentsErrorsAndStatisticsAsRootDoes) {
    Histogram1D h("h", "title;x;y", {4, 0, 4});
    EXPECT_EQ(h.title, "title");
    EXPECT_EQ(h.x.title, "x");
    EXPECT_EQ(h.value_title, "y");
    h.fill(0.5);
    h.fill(1.5);
    h.fill(1.5);
    h.fill(-1);
    h.fill(nan);
    EXPECT_TRUE(h.squares.empty()) << "every weight was 1";
    EXPECT_DOUBLE_EQ(h.error(2), std::sqrt(2));
    h.fill(1.5, 3);
    ASSERT_EQ(h.squares.size(), 6U);
    EXPECT_EQ(h.contents, (std::vector<double>{1, 1, 5, 0, 0, 1}));
    EXPECT_EQ(h.squares, (std::vector<double>{1, 1, 11, 0, 0, 1}));
    EXPECT_EQ(h.entries, 6);
    // What lies outside the range is an entry, and no part of mean and rms.
    EXPECT_EQ(h.sums, (HistogramSums{.w = 6, .w2 = 12, .wx = 8, .wx2 = 11.5}));
    EXPECT_DOUBLE_EQ(h.mean_x(), 8.0 / 6);
    EXPECT_DOUBLE_EQ(h.rms_x(), std::sqrt(11.5 / 6 - 64.0 / 36));
}

TEST(Histogram, OfTwoAxesCountsInsideOnlyWhereBothAre) {
    Histogram2D h("h", "t;x;y;z", {2, 0, 2}, Axis::of_edges({0, 1, 10}));
    EXPECT_EQ(h.value_title, "z");
    h.fill(0.5, 5);
    h.fill(0.5, 5, 2);
    h.fill(-1, 5);
    h.fill(1, 10);
    EXPECT_EQ(h.content(h.cell(1, 2)), 3);
    EXPECT_EQ(h.content(h.cell(0, 2)), 1);
    EXPECT_EQ(h.content(h.cell(2, 3)), 1);
    EXPECT_EQ(h.squares[h.cell(1, 2)], 5);
    EXPECT_EQ(h.entries, 4);
    EXPECT_EQ(h.sums, (HistogramSums{.w = 3, .w2 = 5, .wx = 1.5, .wx2 = 0.75, .wy = 15, .wy2 = 75, .wxy = 7.5}));
}

TEST(Histogram, SumsOfPartsAreTheWhole) {
    std::mt19937 random(3);
    std::normal_distribution<double> values(5, 3);
    for (const bool weights : {false, true}) {
        Histogram1D whole("h", "", {20, 0, 10});
        std::vector<Histogram1D> parts(3, Histogram1D("h", "", {20, 0, 10}));
        for (int i = 0; i < 3000; ++i) {
            const auto value = values(random);
            const auto weight = weights && i % 3 == 1 ? 2.0 : 1.0;  // one of the parts has them
            whole.fill(value, weight);
            parts[static_cast<std::size_t>(i % 3)].fill(value, weight);
        }
        Histogram sum = parts[0];
        sum.add(parts[1]);
        sum.add(parts[2]);
        EXPECT_EQ(sum.contents, whole.contents);
        EXPECT_EQ(sum.squares, whole.squares);
        EXPECT_EQ(sum.entries, whole.entries);
        EXPECT_NEAR(sum.rms_x(), whole.rms_x(), 1e-9);
    }
}

TEST(Histogram, WhatExceedsTheLimitsIsNamed) {
    EXPECT_EQ(fault_of(Histogram("good", "", {10, 0, 1})), nullptr);
    EXPECT_EQ(fault_of(Histogram("größe", "", {10, 0, 1})), nullptr);
    for (const auto* wrong : {"", "a/b", "a;1", "a\nb", "a\x7f"})
        EXPECT_NE(fault_of(Histogram(wrong, "", {10, 0, 1})), nullptr);
    EXPECT_NE(fault_of(Histogram(std::string(201, 'n'), "", {10, 0, 1})), nullptr);
    EXPECT_NE(fault_of(Histogram("h", std::string(501, 't'), {10, 0, 1})), nullptr);
    EXPECT_NE(fault_of(Histogram("h", "", {1'000'000, 0, 1})), nullptr);
    EXPECT_NE(fault_of(Histogram("h", "", {2000, 0, 1}, {2000, 0, 1})), nullptr);
    EXPECT_NE(fault_of(Histogram("h", "", {10, 0, 1}, {10, 1, 0})), nullptr);
}

}  // namespace
}  // namespace weir::monitor
