// SPDX-License-Identifier: Apache-2.0
#include "weir/event/restamp.hpp"

#include <gtest/gtest.h>

#include "sample.hpp"
#include "weir/event/rob_cursor.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

constexpr EventIds new_ids{.run = RunNumber{400'001},
                           .global_id = GlobalEventId{0x2'0000'0001},
                           .level1_id = Level1Id{0xffff'fffe},
                           .lumi_block = LumiBlock{12},
                           .time = {.seconds = 1'700'000'000, .nanoseconds = 999'999'999}};

TEST(Restamp, TheStampedEventIsTheOneThatWouldHaveBeenBuiltWithThoseIds) {
    for (const auto checksum : {ChecksumType::none, ChecksumType::adler32}) {
        auto bytes = sample_event(Format::event_5_0, checksum);
        const auto plan = RestampPlan::make(bytes, Format::event_5_0).value();
        EXPECT_EQ(plan.event_size(), bytes.size());
        EXPECT_EQ(plan.places(), 7 + 2 * sample_sources.size());
        for (const auto& ids : {new_ids, sample_ids, new_ids}) {  // again and again, back and forth
            plan.apply(bytes, ids);
            EXPECT_EQ(EventView::parse(bytes, Format::event_5_0).value().ids(), ids);
            const auto report = check_event(bytes, Format::event_5_0, Depth::fragments,
                                            {.reject_level1_mismatch = true, .reject_run_mismatch = true});
            ASSERT_TRUE(report.has_value()) << report.error().context;
            EXPECT_EQ(report->checksums_verified, checksum == ChecksumType::none ? 0U : 5U);
        }
        plan.apply(bytes, sample_ids);
        EXPECT_EQ(bytes, sample_event(Format::event_5_0, checksum));
    }
}

TEST(Restamp, AnEvent3IsStampedAtEveryLevel) {
    auto bytes = sample_event(Format::event_3_0);
    const auto plan = RestampPlan::make(bytes, Format::event_3_0).value();
    plan.apply(bytes, new_ids);
    const auto event = EventView::parse(bytes, Format::event_3_0).value();
    EXPECT_EQ(event.ids(), (EventIds{.run = new_ids.run,
                                     .global_id = GlobalEventId{1},
                                     .level1_id = new_ids.level1_id,
                                     .lumi_block = {},
                                     .time = {.seconds = new_ids.time.seconds, .nanoseconds = 0}}));
    RobCursor cursor(event);
    while (const auto rob = cursor.next().value()) {
        EXPECT_EQ(cursor.ros()->specific(0), number(new_ids.run));
        EXPECT_EQ(cursor.ros()->specific(1), number(new_ids.level1_id));
        EXPECT_EQ(RodView::parse(rob->payload()).value().level1_id(), new_ids.level1_id);
        EXPECT_EQ(RodView::parse(rob->payload()).value().run(), new_ids.run);
    }
}

TEST(Restamp, ADistanceStaysAndSourcesThatDoNotCountAreLeftAlone) {
    auto bytes = sample_event(Format::event_5_0);
    std::vector<std::size_t> rods;
    ASSERT_TRUE(for_each_rob(EventView::parse(bytes, Format::event_5_0).value(), [&](const FragmentView& rob) {
                    rods.push_back(rob.payload_offset());
                }).has_value());
    const auto level1 = [&](std::size_t rob) { return load_little<std::uint32_t>(bytes, rods[rob] + 5 * word_bytes); };
    const auto set = [&](std::size_t rob, std::size_t at, std::uint32_t value) {
        store_little(MutableData(bytes), rods[rob] + at * word_bytes, value);
    };
    set(0, 5, number(sample_ids.level1_id) + 1);    // one ahead
    set(1, 5, 0);                                   // none
    set(2, 5, number(sample_ids.level1_id) - 100);  // another count
    set(3, 4, 0);                                   // no run
    RestampPlan::make(bytes, Format::event_5_0).value().apply(bytes, new_ids);
    EXPECT_EQ(level1(0), number(new_ids.level1_id) + 1);
    EXPECT_EQ(level1(1), 0U);
    EXPECT_EQ(level1(2), number(sample_ids.level1_id) - 100);
    EXPECT_EQ(level1(3), number(new_ids.level1_id));
    EXPECT_EQ(load_little<std::uint32_t>(bytes, rods[3] + 4 * word_bytes), 0U);
}

TEST(Restamp, RulesDecideWhichFarSourceMovesAndWhichNearOneDoesNot) {
    auto bytes = sample_event(Format::event_5_0);
    std::vector<std::size_t> rods;
    ASSERT_TRUE(for_each_rob(EventView::parse(bytes, Format::event_5_0).value(), [&](const FragmentView& rob) {
                    rods.push_back(rob.payload_offset());
                }).has_value());
    store_little(MutableData(bytes), rods[2] + 5 * word_bytes, number(sample_ids.level1_id) - 100);
    RodRules rules;
    rules.sources[sample_sources[2]] = {.level1_offset = -100, .exempt = false};
    rules.sources[sample_sources[3]] = {.level1_offset = 0, .exempt = true};
    RestampPlan::make(bytes, Format::event_5_0, rules).value().apply(bytes, new_ids);
    EXPECT_EQ(load_little<std::uint32_t>(bytes, rods[2] + 5 * word_bytes), number(new_ids.level1_id) - 100);
    EXPECT_EQ(load_little<std::uint32_t>(bytes, rods[3] + 5 * word_bytes), number(sample_ids.level1_id));
}

TEST(Restamp, AWrongChecksumStaysWrong) {
    auto bytes = sample_event(Format::event_5_0, ChecksumType::adler32);
    bytes.back() ^= std::byte{1};
    RestampPlan::make(bytes, Format::event_5_0).value().apply(bytes, new_ids);
    EXPECT_EQ(check_event(bytes, Format::event_5_0, Depth::fragments).error().code, Errc::corrupt);
}

TEST(Restamp, WhatCannotBeStampedIsAnError) {
    EXPECT_EQ(
        RestampPlan::make(sample_event(Format::event_5_0, ChecksumType::none, Compression::zlib), Format::event_5_0)
            .error()
            .code,
        Errc::unsupported);
    auto crc = sample_event(Format::event_5_0, ChecksumType::adler32);
    set_word(crc, 7, static_cast<std::uint32_t>(ChecksumType::crc16_ccitt));
    EXPECT_EQ(RestampPlan::make(crc, Format::event_5_0).error().code, Errc::unsupported);
    EXPECT_EQ(RestampPlan::make({}, Format::event_3_0).error().code, Errc::truncated);
    EXPECT_EQ(RestampPlan::make(as_data("opaque"), Format::opaque).error().code, Errc::unsupported);
}

}  // namespace
}  // namespace weir::event
