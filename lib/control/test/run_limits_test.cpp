// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_limits.hpp"

#include <gtest/gtest.h>

namespace weir::control {
namespace {

using namespace std::chrono_literals;

TEST(RunLimits, TheLargerOfAShareAndANumberOfEventsMayBeIncomplete) {
    const IncompleteLimit usual;
    EXPECT_FALSE(usual.passed(10, 82));
    EXPECT_TRUE(usual.passed(11, 82));
    EXPECT_FALSE(usual.passed(100, 100'000));
    EXPECT_TRUE(usual.passed(101, 100'000));
    EXPECT_EQ(usual.text(), "0.1% or 10");
    EXPECT_TRUE(parse_incomplete_limit("0").value().passed(1, 1'000'000));
    EXPECT_FALSE(parse_incomplete_limit("100%").value().passed(82, 82));
}

TEST(RunLimits, AreReadAsTheyAreWritten) {
    for (const auto* text : {"0.1% or 10", "1%", "0", "100", "12.5% or 3", "100%"})
        EXPECT_EQ(parse_incomplete_limit(text).value().text(), text);
    EXPECT_EQ(parse_incomplete_limit(" 1 %  or  5 ").value().text(), "1% or 5");
    for (const auto* text : {"", "%", "a", "-1", "101%", "-1%", "nan%", "1 or 2", "1% or", "1% or x", "1% or 2 or 3"})
        EXPECT_FALSE(parse_incomplete_limit(text)) << text;
}

TEST(RunLimits, AMaskRuleIsANumberOfEventsOrATimeOrNone) {
    EXPECT_EQ(parse_mask_rule("").value(), MaskRule{});
    EXPECT_EQ(parse_mask_rule("100 events").value(), (MaskRule{.events = 100}));
    EXPECT_EQ(parse_mask_rule("30s").value(), (MaskRule{.time = 30s}));
    for (const auto* text : {"100", "0 events", "events", "-3 events", "soon", "1us"})
        EXPECT_FALSE(parse_mask_rule(text)) << text;
}

}  // namespace
}  // namespace weir::control
