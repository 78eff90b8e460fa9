// SPDX-License-Identifier: Apache-2.0
#include "weir/event/partial.hpp"

#include <gtest/gtest.h>

#include "sample.hpp"
#include "weir/event/check.hpp"
#include "weir/event/rob_cursor.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

StreamTag wanting(std::vector<SourceId> robs, std::vector<std::uint8_t> detectors = {}) {
    return {.type = "calibration",
            .name = "Tile",
            .obeys_lumi_block = false,
            .robs = std::move(robs),
            .detectors = std::move(detectors)};
}

std::vector<SourceId> sources_of(ConstData bytes, Format format) {
    std::vector<SourceId> sources;
    EXPECT_TRUE(for_each_rob(EventView::parse(bytes, format).value(), [&](const FragmentView& rob) {
                    sources.push_back(rob.source());
                }).has_value());
    return sources;
}

TEST(Partial, TheCutEventIsValidAndHasJustTheRobsThatWereAskedFor) {
    for (const auto format : {Format::event_5_0, Format::event_3_0}) {
        for (const auto checksum : {ChecksumType::none, ChecksumType::adler32}) {
            if (format == Format::event_3_0 && checksum != ChecksumType::none) continue;
            const auto whole = sample_event(format, checksum);
            const auto event = EventView::parse(whole, format).value();
            for (unsigned chosen = 0; chosen < 16; ++chosen) {   // every subset of the four ROBs
                std::vector<SourceId> robs{SourceId{0x999999}};  // one that the event does not have
                std::vector<SourceId> expected;
                for (std::size_t i = 0; i < sample_sources.size(); ++i)
                    if (chosen >> i & 1) expected.push_back(sample_sources[i]);
                robs.insert(robs.end(), expected.begin(), expected.end());

                const auto cut = cut_event(event, wanting(robs)).value().to_bytes();
                const auto report = check_event(cut, format, Depth::fragments, {.reject_level1_mismatch = true});
                ASSERT_TRUE(report.has_value()) << report.error().context;
                EXPECT_EQ(report->checksums_verified, checksum == ChecksumType::none ? 0 : expected.size() + 1);
                EXPECT_EQ(sources_of(cut, format), expected);
                const auto view = EventView::parse(cut, format).value();
                EXPECT_TRUE(view.partial());
                EXPECT_EQ(view.ids(), event.ids());
                EXPECT_TRUE(std::ranges::equal(view.stream_tag_words(), event.stream_tag_words()));
                if (format == Format::event_5_0) {
                    EXPECT_EQ(view.fragment().specific(11) * word_bytes, view.payload().size());
                }
            }
        }
    }
}

TEST(Partial, ASubdetectorTakesAllItsRobs) {
    for (const auto format : {Format::event_5_0, Format::event_3_0}) {
        const auto whole = sample_event(format);
        const auto cut =
            cut_event(EventView::parse(whole, format).value(), wanting({SourceId{0x630001}}, {0x42})).value();
        EXPECT_EQ(sources_of(cut.to_bytes(), format),
                  (std::vector{SourceId{0x420001}, SourceId{0x420002}, SourceId{0x630001}}));
    }
}

TEST(Partial, FragmentsAreNotCopied) {
    const auto whole = sample_event(Format::event_5_0, ChecksumType::adler32);
    const auto cut = cut_event(EventView::parse(whole, Format::event_5_0).value(), wanting({}, {0x42})).value();
    ASSERT_EQ(cut.count(), 3U);  // header, two neighbouring ROBs, checksum
    EXPECT_GE(cut.piece(1).data(), whole.data());
    EXPECT_LE(cut.piece(1).data() + cut.piece(1).size(), whole.data() + whole.size());
    EXPECT_EQ(cut.piece(0).size() + cut.piece(1).size() + cut.piece(2).size(), cut.size());
}

TEST(Partial, ATagThatIsNotPartialGivesTheEventAsItIs) {
    const auto whole = sample_event(Format::event_3_0);
    const auto cut =
        cut_event(EventView::parse(whole, Format::event_3_0).value(), parse_stream_key("physics_Main").value()).value();
    ASSERT_EQ(cut.count(), 1U);
    EXPECT_EQ(cut.piece(0).data(), whole.data());
    EXPECT_EQ(cut.size(), whole.size());
}

TEST(Partial, AnEventWithoutStatusWordGetsOne) {
    for (const auto format : {Format::event_5_0, Format::event_3_0}) {
        auto fields = sample_fields(format);
        fields.status = {};
        const auto whole = build_event(fields, sample_robs(format).views()).value();
        const auto cut = cut_event(EventView::parse(whole, format).value(), wanting({}, {0x51})).value().to_bytes();
        ASSERT_TRUE(check_event(cut, format, Depth::fragments).has_value());
        EXPECT_TRUE(EventView::parse(cut, format).value().partial());
    }
}

TEST(Partial, OtherStatusWordsAndBitsStay) {
    auto fields = sample_fields(Format::event_5_0);
    fields.status = {status::event_recovered, 5};
    const auto whole = build_event(fields, sample_robs(Format::event_5_0).views()).value();
    const auto cut =
        cut_event(EventView::parse(whole, Format::event_5_0).value(), wanting({}, {0x51})).value().to_bytes();
    const auto view = EventView::parse(cut, Format::event_5_0).value();
    EXPECT_EQ(view.fragment().status(0), status::event_recovered | status::event_partial);
    EXPECT_EQ(view.fragment().status(1), 5U);
}

TEST(Partial, WhatCannotBeCutIsUnsupportedAndLeavesNothing) {
    EventPieces pieces;
    const auto packed = sample_event(Format::event_5_0, ChecksumType::none, Compression::zlib);
    EXPECT_EQ(cut_event(EventView::parse(packed, Format::event_5_0).value(), wanting({}, {0x42}), pieces).error().code,
              Errc::unsupported);
    EXPECT_EQ(pieces.size(), 0U);
    auto crc = sample_event(Format::event_5_0, ChecksumType::adler32);
    set_word(crc, 7, static_cast<std::uint32_t>(ChecksumType::crc16_ccitt));
    EXPECT_EQ(cut_event(EventView::parse(crc, Format::event_5_0).value(), wanting({}, {0x42}), pieces).error().code,
              Errc::unsupported);
    EXPECT_EQ(pieces.count(), 0U);
}

}  // namespace
}  // namespace weir::event
