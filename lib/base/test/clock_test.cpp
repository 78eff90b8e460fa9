// SPDX-License-Identifier: Apache-2.0
#include "weir/base/clock.hpp"

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(Clock, AManualClockStandsStillUntilItIsMoved) {
    ManualClock clock;
    const auto before = clock.now();
    EXPECT_EQ(clock.now(), before);
    clock.advance(250ms);
    EXPECT_EQ(clock.now() - before, 250ms);
}

TEST(Clock, DurationsAreReadWithUnits) {
    EXPECT_EQ(parse_duration("250ms").value(), 250ms);
    EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
    EXPECT_EQ(parse_duration("5 min").value(), 5min);
    EXPECT_EQ(parse_duration("2h").value(), 2h);
    EXPECT_EQ(parse_duration("30d").value(), 720h);
}

TEST(Clock, ADurationWithoutUnitIsAnError) {
    for (const char* text : {"10", "", "ms", "-1s", "1 fortnight"}) {
        const auto result = parse_duration(text);
        ASSERT_FALSE(result.has_value()) << text;
        EXPECT_EQ(result.error().code, Errc::usage);
    }
}

TEST(Clock, TheExactTextIsReadBack) {
    for (const std::chrono::nanoseconds d : {0ns, 1ns, 250'000'000ns, 60'000'000'000ns, 1'500'000'000ns})
        EXPECT_EQ(parse_duration(to_string(d)).value(), d) << to_string(d);
}

}  // namespace
}  // namespace weir
