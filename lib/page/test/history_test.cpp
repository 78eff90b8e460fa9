// SPDX-License-Identifier: Apache-2.0
#include "weir/page/history.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>

namespace weir::page {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class HistoryTest : public testing::Test {
protected:
    void second(double value, std::string_view name = "recorded") {
        const std::array values{std::pair{name, value}};
        history.add(values);
        clock.advance(1s);
    }

    ManualClock clock;
    History history{clock};
};

TEST_F(HistoryTest, TheLastSecondsAreThereAndTheNewestIsLast) {
    for (int i = 0; i < 5; ++i) second(i);
    const std::vector<std::string> names{"recorded", "unknown"};
    EXPECT_EQ(history.to_json(3s, names), R"({"step":1,"end":1700000004,"series":{"recorded":[2,3,4]}})");
    EXPECT_EQ(history.to_json(600s, {}), R"({"step":1,"end":1700000004,"series":{"recorded":[0,1,2,3,4]}})");
}

TEST_F(HistoryTest, ASecondInWhichNothingWasKnownIsAGap) {
    second(1);
    clock.advance(2s);
    second(4);
    EXPECT_THAT(history.to_json(600s, {}), HasSubstr("[1,null,null,4]"));
    second(7, "built");
    EXPECT_THAT(history.to_json(600s, {}),
                HasSubstr(R"("built":[null,null,null,null,7],"recorded":[1,null,null,4,null])"));
}

TEST_F(HistoryTest, BeyondAnHourThereAreMeansOfTenSeconds) {
    for (int i = 0; i < 4000; ++i) second(i % 10);
    const std::vector<std::string> names{"recorded"};
    const auto text = history.to_json(4000s, names);
    EXPECT_THAT(text, HasSubstr(R"({"step":10,)"));
    EXPECT_THAT(text, HasSubstr("[4.5,4.5,4.5,"));
    EXPECT_EQ(std::ranges::count(text, ','), 2 + 399);
}

TEST_F(HistoryTest, ADayFullOfSeriesTakesTheMemoryOfTheLimitsAndNoMore) {
    const HistoryLimits limits;
    const auto bound = limits.series_max * (limits.fine + limits.coarse) * sizeof(float);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < limits.series_max + 100; ++i) names.push_back(fmt::format("station {}", i));
    std::vector<std::pair<std::string_view, double>> values;
    for (const auto& name : names) values.emplace_back(name, 1.0);
    std::size_t after_an_hour = 0;
    for (int i = 0; i < 25 * 3600; i += 5) {
        history.add(values);
        if (i == 3600) after_an_hour = history.bytes();
        clock.advance(5s);
    }
    EXPECT_EQ(history.series(), limits.series_max);
    EXPECT_EQ(history.left_out(), 100U * 25 * 720);
    EXPECT_EQ(history.bytes(), after_an_hour);
    EXPECT_EQ(history.bytes(), bound);
    EXPECT_LE(bound, 13'000'000U);
    const std::vector<std::string> one{"station 0"};
    EXPECT_EQ(std::ranges::count(history.to_json(24h, one), ','), 2 + 8640 - 1);
}

TEST_F(HistoryTest, AfterAStandstillLongerThanTheRingNothingOldIsShown) {
    for (int i = 0; i < 20; ++i) second(5);
    clock.advance(48h);
    second(6);
    const auto hour = history.to_json(3600s, {}), day = history.to_json(24h, {});
    EXPECT_THAT(hour, HasSubstr("null,6]"));
    EXPECT_THAT(day, HasSubstr("null,6]"));
    EXPECT_THAT(hour, testing::Not(HasSubstr("5")));
}

TEST(HistoryQueryTest, WhatIsNotUnderstoodIsLeftAsItIs) {
    const auto query = parse_history_query("seconds=60&series=a,in%20hand%20ros-1&x=y");
    EXPECT_EQ(query.span, 60s);
    EXPECT_THAT(query.names, ElementsAre("a", "in hand ros-1"));
    EXPECT_EQ(parse_history_query("seconds=-5").span, 600s);
    EXPECT_EQ(parse_history_query("seconds=999999999999999999999").span, 600s);
    EXPECT_EQ(parse_history_query("series=%").names.size(), 1U);
    EXPECT_EQ(parse_history_query("series=" + std::string(5000, ',')).names.size(), 64U);
}

}  // namespace
}  // namespace weir::page
