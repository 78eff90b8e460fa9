// SPDX-License-Identifier: Apache-2.0
#include "run/log_filter.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::app {
namespace {

using namespace std::chrono_literals;

const WallTime now = WallTime{std::chrono::seconds{1'700'000'000}};  // 2023-11-14T22:13:20Z

TEST(MomentTest, IsATimeOfALogOrSoLongAgo) {
    EXPECT_EQ(parse_moment("10min", now), now - 10min);
    EXPECT_EQ(parse_moment("2023-11-14T22:13:20.000Z", now), now);
    EXPECT_EQ(parse_moment("2023-11-14T22:13:20.500", now), now + 500ms);
    EXPECT_EQ(parse_moment("2023-11-14 22:13:20", now), now);
    EXPECT_EQ(parse_moment("2023-11-14T22:13Z", now), now - 20s);
    EXPECT_EQ(parse_moment("22:13", now), now - 20s);
    EXPECT_EQ(parse_moment("22:13:20", now), now);
    EXPECT_EQ(parse_moment("2023-11-14", now), now - 22h - 13min - 20s);
    for (const auto* text :
         {"", "10", "yesterday", "2023-11-31", "25:00", "2023-11-14T22", "T", "22:13:20:20", "12:3"}) {
        const auto wrong = parse_moment(text, now);
        ASSERT_FALSE(wrong) << text;
        EXPECT_EQ(wrong.error().code, Errc::usage);
    }
}

TEST(LogFilterTest, WantsWhatFitsInAllThatItNames) {
    const service::LogEntry entry{now, "", "rec-1", RunNumber{17}, Severity::warning, "slow"};
    EXPECT_TRUE(LogFilter{}.wants(entry));
    EXPECT_TRUE((LogFilter{{"ros-1", "rec-1"}, Severity::warning, now, now + 1s}).wants(entry));
    EXPECT_FALSE((LogFilter{.stations = {"ros-1"}}).wants(entry));
    EXPECT_FALSE((LogFilter{.severity = Severity::error}).wants(entry));
    EXPECT_FALSE((LogFilter{.since = now + 1ms}).wants(entry));
    EXPECT_FALSE((LogFilter{.until = now}).wants(entry));
}

TEST(LogStationsTest, OfANameThatIsNoneTheNearestAndAllThatThereAreAreNamed) {
    const std::vector<std::string> known{"run", "ros-1", "rec-1", "run", "ros-1"};
    EXPECT_TRUE(check_stations({}, known, "the log"));
    EXPECT_TRUE(check_stations({"rec-1", "run"}, known, "the log"));
    const auto wrong = check_stations({"rec-1", "rec-l"}, known, "the log");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Errc::refused);
    EXPECT_EQ(wrong.error().context,
              "the log has no station \"rec-l\"; did you mean \"rec-1\"?; there are rec-1, ros-1, run");
}

TEST(LogStationsTest, OfManyStationsTwentyAreNamedAndTheOthersCounted) {
    std::vector<std::string> known;
    for (int i = 0; i < 120; ++i) known.push_back(fmt::format("ros-{:03}", i));
    const auto wrong = check_stations({"nonesuch"}, known, "the log");
    ASSERT_FALSE(wrong);
    EXPECT_TRUE(wrong.error().context.ends_with("ros-018, ros-019 and 100 more")) << wrong.error().context;
}

}  // namespace
}  // namespace weir::app
