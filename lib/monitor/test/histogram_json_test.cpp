// SPDX-License-Identifier: Apache-2.0
#include "histogram_json.hpp"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "sample_histograms.hpp"

namespace weir::monitor {
namespace {

KeptHistograms::Picture sample_picture() {
    KeptHistograms::Picture picture{.run = RunNumber{12}, .counters = {{"odd <b>", 3}}};
    for (auto& histogram : test::sample_histograms())
        picture.histograms.push_back(std::make_shared<const Histogram>(std::move(histogram)));
    return picture;
}

TEST(HistogramJson, WhatIsSavedIsReadAgainAsItWas) {
    const auto picture = sample_picture();
    const auto saved =
        read_saved_histograms(saved_document({.monitor = "m", .run = RunNumber{12}, .events = 5}, picture));
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(saved->run, RunNumber{12});
    ASSERT_EQ(saved->histograms.size(), picture.histograms.size());
    for (const auto& histogram : picture.histograms) {
        const auto& read = saved->histograms.at(histogram->name);
        EXPECT_EQ(read.x, histogram->x);
        EXPECT_EQ(read.y, histogram->y);
        EXPECT_EQ(read.contents, histogram->contents);
        EXPECT_EQ(read.squares, histogram->squares);
        EXPECT_EQ(read.entries, histogram->entries);
        EXPECT_EQ(read.sums, histogram->sums);
    }
}

TEST(HistogramJson, NumbersThatJsonCannotHoldAreNull) {
    Histogram1D h("h", "", {2, 0, 2});
    h.fill(1, std::numeric_limits<double>::infinity());
    const auto text = json::serialize(to_json(h));
    EXPECT_TRUE(json::parse(text)) << text;
    EXPECT_NE(text.find("null"), std::string::npos);
}

TEST(HistogramJson, ADamagedFileIsAnErrorThatNamesTheFault) {
    const auto whole = saved_document({.monitor = "m", .run = RunNumber{1}}, sample_picture());
    for (std::size_t size = 0; size < whole.size() - 2; size += 97)
        EXPECT_FALSE(read_saved_histograms(std::string_view(whole).substr(0, size)));
    const auto broken = [](std::string_view histogram) {
        return read_saved_histograms(std::string(R"({"version":1,"run":1,"histograms":[)") + std::string(histogram) +
                                     "]}");
    };
    EXPECT_TRUE(broken(R"({"name":"h","x":{"bins":1,"low":0,"high":1},"entries":1,"contents":[0,1,0]})"));
    for (const auto* wrong :
         {R"({"name":"h","x":{"bins":1,"low":0,"high":1},"entries":1,"contents":[0,1]})",
          R"({"name":"h","x":{"bins":1,"low":0,"high":1},"entries":1,"contents":[0,1,"2"]})",
          R"({"name":"h","x":{"bins":1,"low":1,"high":1},"entries":1,"contents":[0,1,0]})",
          R"({"name":"h","x":{"bins":1,"low":0,"high":1},"entries":1,"contents":[0,1,0],"squares":[1]})",
          R"({"name":"","x":{"bins":1,"low":0,"high":1},"entries":1,"contents":[0,1,0]})",
          R"({"name":"h","x":{"bins":99999999,"low":0,"high":1},"entries":1,"contents":[]})",
          R"({"name":"h","x":3,"entries":1,"contents":[]})", R"({"name":"h","entries":1,"contents":[0]})", "7"})
        EXPECT_FALSE(broken(wrong)) << wrong;
    EXPECT_FALSE(read_saved_histograms(R"({"version":2,"run":1,"histograms":[]})"));
}

}  // namespace
}  // namespace weir::monitor
