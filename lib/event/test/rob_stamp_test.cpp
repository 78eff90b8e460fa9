// SPDX-License-Identifier: Apache-2.0
#include "weir/event/rob_stamp.hpp"

#include <gtest/gtest.h>

#include "sample.hpp"
#include "weir/event/restamp.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

constexpr Level1Id wrapped{0xffff'fffe};

std::vector<std::byte> rob_with(Level1Id rod_id, RobOptions options = {}) {
    std::vector<std::byte> bytes;
    const std::vector<std::uint32_t> data{0x11, 0x22, 0x33};
    EXPECT_TRUE(append_rob(bytes, {.source = SourceId{0x420001}, .level1_id = rod_id}, data, options).has_value());
    return bytes;
}

TEST(RobStamp, AStampedRobIsTheOneThatWouldHaveBeenMadeWithThatId) {
    for (const auto checksum : {ChecksumType::none, ChecksumType::adler32}) {
        auto rob = rob_with(Level1Id{1000}, {.checksum = checksum});
        const auto stamp = RobStamp::make(rob, Format::event_5_0, Level1Id{1000}).value();
        EXPECT_TRUE(stamp.follows());
        EXPECT_FALSE(stamp.mismatch());
        for (const auto id : {Level1Id{7}, wrapped, Level1Id{0}, Level1Id{1000}}) {
            stamp.apply(rob, id);
            EXPECT_EQ(rob, rob_with(id, {.checksum = checksum}));
        }
    }
}

TEST(RobStamp, ASourceThatCountsOneAheadStaysOneAhead) {
    const RodRules rules{.sources = {{SourceId{0x420001}, {.level1_offset = 1}}}};
    auto rob = rob_with(Level1Id{1001}, {.format = Format::event_3_0});
    const auto stamp = RobStamp::make(rob, Format::event_3_0, Level1Id{1000}, rules).value();
    EXPECT_FALSE(stamp.mismatch());
    stamp.apply(rob, Level1Id{0xffff'ffff});
    EXPECT_EQ(rob, rob_with(Level1Id{0}, {.format = Format::event_3_0}));
}

TEST(RobStamp, ASourceThatIsExemptKeepsItsWord) {
    const RodRules rules{.sources = {{SourceId{0x420001}, {.exempt = true}}}};
    auto rob = rob_with(Level1Id{0});
    const auto stamp = RobStamp::make(rob, Format::event_5_0, Level1Id{1000}, rules).value();
    EXPECT_FALSE(stamp.follows());
    EXPECT_FALSE(stamp.mismatch());
    stamp.apply(rob, Level1Id{5});
    EXPECT_EQ(rob, rob_with(Level1Id{0}));
}

TEST(RobStamp, AnIdThatTheRulesDoNotExpectIsAMismatchAndKeepsItsDistanceOrItsWord) {
    auto ahead = rob_with(Level1Id{1003});
    const auto near = RobStamp::make(ahead, Format::event_5_0, Level1Id{1000}).value();
    EXPECT_TRUE(near.mismatch());
    near.apply(ahead, Level1Id{2000});
    EXPECT_EQ(ahead, rob_with(Level1Id{2003}));
    const auto far = RobStamp::make(rob_with(Level1Id{5000}), Format::event_5_0, Level1Id{1000}).value();
    EXPECT_TRUE(far.mismatch());
    EXPECT_FALSE(far.follows());
    const auto marked = rob_with(Level1Id{1003}, {.status = status::level1_id});
    EXPECT_FALSE(RobStamp::make(marked, Format::event_5_0, Level1Id{1000}).value().mismatch());
}

TEST(RobStamp, WhatIsNoRobIsRefused) {
    auto rob = rob_with(Level1Id{1});
    EXPECT_FALSE(RobStamp::make(std::span(rob).first(rob.size() - 4), Format::event_5_0, Level1Id{1}).has_value());
    rob.resize(rob.size() + 4);
    EXPECT_EQ(RobStamp::make(rob, Format::event_5_0, Level1Id{1}).error().code, Errc::corrupt);
}

}  // namespace
}  // namespace weir::event
