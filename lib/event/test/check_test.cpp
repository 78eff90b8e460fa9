// SPDX-License-Identifier: Apache-2.0
#include "weir/event/check.hpp"

#include <gtest/gtest.h>

#include "sample.hpp"
#include "weir/event/rob_cursor.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

/// The sample event with one word of the ROD of ROB `rob` changed.
std::vector<std::byte> with_rod_word(std::size_t rob, std::size_t number, std::uint32_t value) {
    auto bytes = sample_event(Format::event_5_0);
    RobCursor cursor(EventView::parse(bytes, Format::event_5_0).value());
    for (std::size_t i = 0; i < rob; ++i) EXPECT_TRUE(cursor.next().value());
    const auto at = cursor.next().value()->payload_offset();
    store_little(MutableData(bytes), at + number * word_bytes, value);
    return bytes;
}

constexpr std::size_t rod_source = 3, rod_run = 4, rod_level1 = 5;

TEST(Check, ItsDepthsHaveNamesThatAreReadBack) {
    for (const auto depth : {Depth::none, Depth::header, Depth::fragments}) EXPECT_EQ(parse_depth(name(depth)), depth);
    EXPECT_EQ(parse_depth("deep"), std::nullopt);
}

TEST(Check, EachDepthFindsItsFaultsAndNoMore) {
    auto bytes = sample_event(Format::event_5_0);
    bytes[bytes.size() - 8] ^= std::byte{1};  // the last ROD's trailer
    EXPECT_TRUE(check_event(bytes, Format::event_5_0, Depth::none).has_value());
    EXPECT_TRUE(check_event(bytes, Format::event_5_0, Depth::header).has_value());
    EXPECT_EQ(check_event(bytes, Format::event_5_0, Depth::fragments).error().code, Errc::corrupt);
    bytes[0] ^= std::byte{1};
    EXPECT_TRUE(check_event(bytes, Format::event_5_0, Depth::none).has_value());
    EXPECT_EQ(check_event(bytes, Format::event_5_0, Depth::header).error().code, Errc::corrupt);
}

TEST(Check, OpaqueEventsPassAtEveryDepth) {
    EXPECT_TRUE(check_event(as_data("anything"), Format::opaque, Depth::fragments).has_value());
}

TEST(Check, OneFlippedBitAnywhereBelowTheHeaderBreaksAChecksumOrTheStructure) {
    const auto whole = sample_event(Format::event_5_0, ChecksumType::adler32);
    const auto header = EventView::parse(whole, Format::event_5_0).value().header().size();
    for (std::size_t i = header; i < whole.size(); ++i) {
        auto damaged = whole;
        damaged[i] ^= std::byte{0x10};
        EXPECT_FALSE(check_event(damaged, Format::event_5_0, Depth::fragments).has_value()) << i;
    }
}

TEST(Check, AChecksumThatWeCannotMakeIsCountedAsUnverified) {
    auto bytes = sample_event(Format::event_5_0, ChecksumType::adler32);
    set_word(bytes, 7, static_cast<std::uint32_t>(ChecksumType::crc16_ccitt));
    EXPECT_EQ(check_event(bytes, Format::event_5_0, Depth::fragments).value(),
              (CheckReport{.robs = 4, .checksums_verified = 4, .checksums_unverified = 1}));
    set_word(bytes, 7, 3);
    EXPECT_EQ(check_event(bytes, Format::event_5_0, Depth::header).error().code, Errc::unsupported);
}

TEST(Check, ALevel1MismatchIsCountedAndRejectedOnlyOnRequest) {
    const auto bytes = with_rod_word(2, rod_level1, 7);
    EXPECT_EQ(check_event(bytes, Format::event_5_0, Depth::fragments).value(),
              (CheckReport{.robs = 4, .level1_mismatches = 1, .first_level1_mismatch = sample_sources[2]}));
    const auto error =
        check_event(bytes, Format::event_5_0, Depth::fragments, {.reject_level1_mismatch = true}).error();
    EXPECT_EQ(error.code, Errc::corrupt);
    EXPECT_NE(error.context.find("0x510001"), std::string::npos) << error.context;
}

TEST(Check, ASourceMayCountWithAnOffsetOrNotAtAll) {
    const auto bytes = with_rod_word(2, rod_level1, number(sample_ids.level1_id) + 1);
    RodRules rules{.reject_level1_mismatch = true};
    EXPECT_FALSE(check_event(bytes, Format::event_5_0, Depth::fragments, rules).has_value());
    rules.sources[sample_sources[2]] = {.level1_offset = 1, .exempt = false};
    EXPECT_EQ(check_event(bytes, Format::event_5_0, Depth::fragments, rules).value(), (CheckReport{.robs = 4}));
    rules.sources[sample_sources[2]] = {.level1_offset = 5, .exempt = true};
    EXPECT_EQ(check_event(bytes, Format::event_5_0, Depth::fragments, rules).value(), (CheckReport{.robs = 4}));
}

TEST(Check, AMismatchThatTheStatusMarksIsNotCounted) {
    auto bytes = with_rod_word(0, rod_level1, 7);
    const auto rob = EventView::parse(bytes, Format::event_5_0).value().header().size();
    store_little(MutableData(bytes), rob + 6 * word_bytes, status::level1_id);
    EXPECT_EQ(check_event(bytes, Format::event_5_0, Depth::fragments, {.reject_level1_mismatch = true}).value(),
              (CheckReport{.robs = 4}));
}

TEST(Check, ARunOrSourceThatDiffersIsCountedAndRejectedOnlyOnRequest) {
    const auto run = with_rod_word(1, rod_run, 0);
    EXPECT_EQ(check_event(run, Format::event_5_0, Depth::fragments).value(),
              (CheckReport{.robs = 4, .run_mismatches = 1}));
    EXPECT_FALSE(check_event(run, Format::event_5_0, Depth::fragments, {.reject_run_mismatch = true}).has_value());
    const auto source = with_rod_word(1, rod_source, 0x420009);
    EXPECT_EQ(check_event(source, Format::event_5_0, Depth::fragments).value(),
              (CheckReport{.robs = 4, .source_mismatches = 1}));
    EXPECT_FALSE(
        check_event(source, Format::event_5_0, Depth::fragments, {.reject_source_mismatch = true}).has_value());
}

TEST(Check, ARobWithoutARodNeedsAReasonInItsStatus) {
    std::vector<std::byte> rob;
    for (const std::uint32_t value : {rob_marker, 8U, 8U, version_5_0 << 16, 0x420001U, 1U, status::rob_lost, 0U})
        append_word(rob, value);
    const auto build = [&rob] {
        return build_event(sample_fields(Format::event_5_0), std::vector<ConstData>{rob}).value();
    };
    EXPECT_EQ(check_event(build(), Format::event_5_0, Depth::fragments).value(),
              (CheckReport{.robs = 1, .robs_without_data = 1}));
    set_word(rob, 6, 0);
    EXPECT_EQ(check_event(build(), Format::event_5_0, Depth::fragments).error().code, Errc::corrupt);
}

}  // namespace
}  // namespace weir::event
