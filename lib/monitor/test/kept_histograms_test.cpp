// SPDX-License-Identifier: Apache-2.0
#include "kept_histograms.hpp"

#include <gtest/gtest.h>

namespace weir::monitor {
namespace {

Histogram filled(const char* name, int times, Axis axis = {10, 0, 10}) {
    Histogram1D h(name, "", std::move(axis));
    for (int i = 0; i < times; ++i) h.fill(0.5);
    return h;
}

TEST(KeptHistograms, WhatAProcessSendsTakesThePlaceOfWhatItSentBefore) {
    KeptHistograms kept;
    kept.begin(RunNumber{4});
    ASSERT_TRUE(kept.take(filled("h", 3)));
    ASSERT_TRUE(kept.take(filled("h", 5)));
    kept.take({Counter{"c", 1}});
    kept.take({Counter{"c", 2}});
    const auto picture = kept.picture();
    EXPECT_EQ(picture.run, RunNumber{4});
    ASSERT_EQ(picture.histograms.size(), 1U);
    EXPECT_EQ(picture.histograms[0]->entries, 5);
    ASSERT_EQ(picture.counters.size(), 1U);
    EXPECT_EQ(picture.counters[0].value, 2);
}

TEST(KeptHistograms, WhatProcessesHadFilledWhenTheyEndedStays) {
    KeptHistograms kept;
    kept.begin(RunNumber{4});
    for (int process = 0; process < 3; ++process) {
        ASSERT_TRUE(kept.take(filled("h", 0)));
        ASSERT_TRUE(kept.take(filled("h", 5)));
        kept.take({Counter{"c", 2}});
        kept.process_ended();
    }
    EXPECT_EQ(kept.find("h")->content(1), 15);
    EXPECT_EQ(kept.picture().counters.at(0).value, 6);
    ASSERT_TRUE(kept.take(filled("h", 1)));
    EXPECT_EQ(kept.find("h")->content(1), 16);
    kept.begin(RunNumber{5});
    EXPECT_EQ(kept.find("h"), nullptr);
    EXPECT_TRUE(kept.picture().counters.empty());
}

TEST(KeptHistograms, OtherBinsAfterARestartTakeThePlaceOfTheFirstOnes) {
    KeptHistograms kept;
    ASSERT_TRUE(kept.take(filled("h", 5)));
    kept.process_ended();
    ASSERT_TRUE(kept.take(filled("h", 2, {20, 0, 10})));
    EXPECT_EQ(kept.find("h")->entries, 2);
    EXPECT_EQ(kept.find("h")->x.bins(), 20U);
}

TEST(KeptHistograms, MemoryIsBoundedAlsoOverManyProcesses) {
    KeptHistograms kept;
    for (std::size_t i = 0; i < HistogramLimits::histograms; ++i)
        ASSERT_TRUE(kept.take(filled(std::to_string(i).c_str(), 1)));
    EXPECT_FALSE(kept.take(filled("one more", 1)));
    kept.begin(RunNumber{1});
    ASSERT_TRUE(kept.take(filled("a", 1, {900'000, 0, 1})));
    kept.process_ended();
    ASSERT_TRUE(kept.take(filled("b", 1, {900'000, 0, 1})));
    EXPECT_FALSE(kept.take(filled("c", 1, {900'000, 0, 1})));
    ASSERT_TRUE(kept.take(filled("a", 1, {900'000, 0, 1}))) << "its place is its own";
    std::vector<Counter> many;
    for (int i = 0; i < 3000; ++i) many.push_back({std::to_string(i), 1});
    kept.take(std::move(many));
    EXPECT_EQ(kept.picture().counters.size(), HistogramLimits::histograms);
}

}  // namespace
}  // namespace weir::monitor
