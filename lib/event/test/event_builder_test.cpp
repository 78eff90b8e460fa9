// SPDX-License-Identifier: Apache-2.0
#include "weir/event/event_builder.hpp"

#include <gtest/gtest.h>

#include "payload_sum.hpp"
#include "sample.hpp"
#include "weir/event/check.hpp"
#include "weir/event/compression.hpp"
#include "weir/event/rob_cursor.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

TEST(EventBuilder, WhatItBuildsPassesEveryCheck) {
    const auto plain = check_event(sample_event(Format::event_5_0), Format::event_5_0, Depth::fragments).value();
    EXPECT_EQ(plain, (CheckReport{.robs = 4}));
    const auto summed =
        check_event(sample_event(Format::event_5_0, ChecksumType::adler32), Format::event_5_0, Depth::fragments)
            .value();
    EXPECT_EQ(summed, (CheckReport{.robs = 4, .checksums_verified = 5}));
    EXPECT_EQ(check_event(sample_event(Format::event_3_0), Format::event_3_0, Depth::fragments).value(),
              (CheckReport{.robs = 4}));
}

TEST(EventBuilder, AnEventNeedsNoRobs) {
    for (const auto format : {Format::event_5_0, Format::event_3_0}) {
        const auto bytes = build_event(sample_fields(format), {}).value();
        EXPECT_EQ(check_event(bytes, format, Depth::fragments).value(), CheckReport{});
    }
}

TEST(EventBuilder, TheRobsStayWhereTheyAre) {
    const auto robs = sample_robs(Format::event_5_0);
    EventPieces pieces;
    ASSERT_TRUE(assemble_event(sample_fields(Format::event_5_0), robs.views(), pieces).has_value());
    ASSERT_EQ(pieces.count(), 2U);  // header, and the ROBs that lie side by side
    EXPECT_EQ(pieces.piece(1).data(), robs.bytes.data());
    EXPECT_EQ(pieces.to_bytes(), sample_event(Format::event_5_0));
}

TEST(EventBuilder, NeighboursOfOneSubdetectorShareItsFragment) {
    const auto bytes = sample_event(Format::event_3_0);
    RobCursor cursor(EventView::parse(bytes, Format::event_3_0).value());
    std::vector<SourceId> around;
    while (cursor.next().value()) around.push_back(cursor.subdetector()->source());
    EXPECT_EQ(around, (std::vector{SourceId{0x420000}, SourceId{0x420000}, SourceId{0x510000}, SourceId{0x630000}}));
}

TEST(EventBuilder, ACompressedEventUnpacksToTheSameEvent) {
    const auto plain = sample_event(Format::event_5_0, ChecksumType::adler32);
    const auto packed = sample_event(Format::event_5_0, ChecksumType::adler32, Compression::zlib);
    EXPECT_LT(packed.size(), plain.size());
    EXPECT_EQ(packed.size() % word_bytes, 0U);
    const auto event = EventView::parse(packed, Format::event_5_0).value();
    EXPECT_EQ(event.compression(), Compression::zlib);
    EXPECT_EQ(event.stream_tags().value().size(), 2U);
    EXPECT_EQ(decompress_event(event, 1_MiB).value(), plain);
    EXPECT_EQ(check_event(packed, Format::event_5_0, Depth::fragments).value(),
              (CheckReport{.robs = 4, .checksums_verified = 5}));
    EXPECT_EQ(for_each_rob(event, [](const FragmentView&) {}).error().code, Errc::unsupported);
}

TEST(EventBuilder, ACompressedEventIsNotUnpackedBeyondALimit) {
    const auto packed = sample_event(Format::event_5_0, ChecksumType::none, Compression::zlib);
    const auto event = EventView::parse(packed, Format::event_5_0).value();
    EXPECT_EQ(decompress_event(event, 100_B).error().code, Errc::limit);
    std::vector<std::byte> small(100);
    EXPECT_EQ(decompress_payload(event, MutableData(small)).error().code, Errc::limit);
    EXPECT_EQ(check_event(packed, Format::event_5_0, Depth::fragments, {.uncompressed_max = 100_B}).error().code,
              Errc::limit);
}

TEST(EventBuilder, ACompressedSizeThatZlibCannotReachIsCorruptBeforeAnythingIsAllocated) {
    auto packed = sample_event(Format::event_5_0, ChecksumType::none, Compression::zlib);
    const auto position = EventView::parse(packed, Format::event_5_0).value().fragment().specific_position(11);
    store_little<std::uint32_t>(packed, position, 0xffffffff);
    EXPECT_EQ(decompress_payload(EventView::parse(packed, Format::event_5_0).value(), 1024_GiB).error().code,
              Errc::corrupt);
}

TEST(EventBuilder, ADamagedOrWronglyAnnouncedCompressedEventIsCorrupt) {
    const auto whole = sample_event(Format::event_5_0, ChecksumType::none, Compression::zlib);
    const auto event = EventView::parse(whole, Format::event_5_0).value();
    const auto size_at = event.fragment().specific_position(11);
    const auto announced = load_little<std::uint32_t>(whole, size_at);
    for (const auto wrong : {announced - 1, announced + 1}) {
        auto bytes = whole;
        store_little(MutableData(bytes), size_at, wrong);
        EXPECT_EQ(check_event(bytes, Format::event_5_0, Depth::fragments).error().code, Errc::corrupt);
    }
    auto damaged = whole;
    damaged[event.header().size() + 20] ^= std::byte{0x10};
    EXPECT_EQ(check_event(damaged, Format::event_5_0, Depth::fragments).error().code, Errc::corrupt);
    auto longer = whole;
    longer.resize(longer.size() + 4);
    set_word(longer, 1, static_cast<std::uint32_t>(longer.size() / 4));
    EXPECT_EQ(check_event(longer, Format::event_5_0, Depth::fragments).error().code, Errc::corrupt);
}

TEST(EventBuilder, ALostFragmentIsAnEmptyRobThatIsMarked) {
    for (const auto format : {Format::event_5_0, Format::event_3_0}) {
        std::vector<std::byte> rob;
        const RodFields rod{.source = SourceId{0x420007}, .run = sample_ids.run, .level1_id = sample_ids.level1_id};
        ASSERT_TRUE(append_lost_rob(rob, rod, {.format = format}).has_value());
        EXPECT_EQ(rob.size(), smallest_rob_words * word_bytes);
        const auto bytes = build_event(sample_fields(format), std::vector<ConstData>{rob}).value();
        EXPECT_EQ(check_event(bytes, format, Depth::fragments).value(),
                  (CheckReport{.robs = 1, .robs_without_data = 1}));
        EXPECT_NE(FragmentView::parse(rob, Level::rob, format).value().status() & status::rob_lost, 0U);
    }
}

TEST(EventBuilder, WhatTheFormatDoesNotHaveIsRefused) {
    const auto code = [](EventFields fields) { return build_event(fields, {}).error().code; };
    auto fields = sample_fields(Format::event_5_0);
    fields.checksum = ChecksumType::crc16_ccitt;
    EXPECT_EQ(code(fields), Errc::unsupported);
    fields = sample_fields(Format::event_5_0);
    fields.ids.time.nanoseconds = 1'000'000'000;
    EXPECT_EQ(code(fields), Errc::usage);
    fields = sample_fields(Format::event_3_0);
    fields.checksum = ChecksumType::adler32;
    EXPECT_EQ(code(fields), Errc::unsupported);
    fields = sample_fields(Format::event_3_0);
    fields.tags = sample_fields(Format::event_5_0).tags;
    EXPECT_EQ(code(fields), Errc::unsupported);
    fields = sample_fields(Format::event_3_0);
    fields.ids.global_id = GlobalEventId{0x1'0000'0000};
    EXPECT_EQ(code(fields), Errc::usage);
    fields = sample_fields(Format::event_3_0);
    fields.level1_words.resize(5);
    EXPECT_EQ(code(fields), Errc::usage);
    EXPECT_EQ(code({.format = Format::opaque}), Errc::unsupported);
    std::vector<std::byte> rob;
    EXPECT_EQ(append_rob(rob, {}, {}, {.checksum = ChecksumType::crc16_ccitt}).error().code, Errc::unsupported);
    EXPECT_EQ(append_rob(rob, {}, {}, {.format = Format::event_3_0, .checksum = ChecksumType::adler32}).error().code,
              Errc::unsupported);
    EXPECT_TRUE(rob.empty());
}

TEST(EventBuilder, BytesThatAreNotARobAreRefusedWithTheirNumber) {
    const auto robs = sample_robs(Format::event_5_0);
    auto views = robs.views();
    views[2] = views[2].first(views[2].size() - 4);
    const auto error = build_event(sample_fields(Format::event_5_0), views).error();
    EXPECT_EQ(error.code, Errc::corrupt);
    EXPECT_NE(error.context.find("ROB 2"), std::string::npos) << error.context;
    EXPECT_EQ(build_event(sample_fields(Format::event_3_0), robs.views()).error().code, Errc::unsupported);
}

TEST(PayloadSum, AChangedWordIsAccountedForWithoutReadingTheRest) {
    std::vector<std::byte> bytes(70'000, std::byte{0xa5});
    for (const std::size_t position : {0U, 4U, 65'520U, 69'996U, 33U}) {
        const auto before = payload_adler32(bytes);
        const auto old_word = load_little<std::uint32_t>(bytes, position);
        for (const std::uint32_t value : {0U, 0xffffffffU, 0x01020304U}) {
            store_little(MutableData(bytes), position, value);
            EXPECT_EQ(adler32_after_change(before, bytes.size(), position, old_word, value), payload_adler32(bytes));
        }
    }
}

}  // namespace
}  // namespace weir::event
