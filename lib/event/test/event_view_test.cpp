// SPDX-License-Identifier: Apache-2.0
#include "weir/event/event_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample.hpp"
#include "weir/event/check.hpp"
#include "weir/event/rob_cursor.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

constexpr Format formats[] = {Format::event_5_0, Format::event_3_0};

TEST(EventView, AFormatHasANameThatIsReadBack) {
    for (const auto format : {Format::opaque, Format::event_5_0, Format::event_3_0})
        EXPECT_EQ(parse_format(name(format)), format);
    EXPECT_EQ(parse_format("event-4.0"), std::nullopt);
    EXPECT_EQ(file_version(Format::event_5_0), 6U);
    EXPECT_EQ(file_version(Format::opaque), 6U);
    EXPECT_EQ(file_version(Format::event_3_0), 2U);
}

TEST(EventView, AnEvent5GivesBackAllThatWasPutIn) {
    const auto bytes = sample_event(Format::event_5_0, ChecksumType::adler32);
    const auto event = EventView::parse(bytes, Format::event_5_0).value();
    const auto fields = sample_fields(Format::event_5_0);
    EXPECT_EQ(event.ids(), fields.ids);
    EXPECT_EQ(event.source(), fields.source);
    EXPECT_EQ(event.trigger_type(), 9U);
    EXPECT_EQ(event.bunch_crossing_id(), 77U);
    EXPECT_EQ(event.level1_words().size(), 12U);
    EXPECT_EQ(word(event.level1_words(), 2), 0x303U);
    EXPECT_TRUE(event.level2_words().empty());
    EXPECT_EQ(word(event.filter_words(), 0), 0xf00dU);
    EXPECT_EQ(event.stream_tags().value(), fields.tags);
    EXPECT_EQ(event.compression(), Compression::none);
    EXPECT_EQ(event.uncompressed_payload_size(), event.payload().size());
    EXPECT_EQ(event.checksum_type(), ChecksumType::adler32);
    EXPECT_FALSE(event.partial());
    EXPECT_EQ(EventView::announced_size(ConstData(bytes).first(8)), bytes.size());
}

TEST(EventView, AnEvent3GivesBackAllThatWasPutIn) {
    const auto bytes = sample_event(Format::event_3_0);
    const auto event = EventView::parse(bytes, Format::event_3_0).value();
    EXPECT_EQ(event.ids().run, sample_ids.run);
    EXPECT_EQ(event.ids().global_id, GlobalEventId{42});
    EXPECT_EQ(event.ids().level1_id, sample_ids.level1_id);
    EXPECT_EQ(event.ids().lumi_block, LumiBlock{0});
    EXPECT_EQ(event.ids().time.seconds, sample_ids.time.seconds);
    EXPECT_EQ(event.level1_words().size(), 16U);
    EXPECT_TRUE(event.stream_tags().value().empty());
}

TEST(EventView, ItsRobsComeInOrderAtAnyNesting) {
    for (const auto format : formats) {
        const auto bytes = sample_event(format);
        const auto event = EventView::parse(bytes, format).value();
        std::vector<SourceId> seen;
        ASSERT_TRUE(for_each_rob(event, [&](const FragmentView& rob) {
                        seen.push_back(rob.source());
                        const auto rod = RodView::parse(rob.payload(), rob.payload_offset()).value();
                        EXPECT_EQ(rod.level1_id(), sample_ids.level1_id);
                        EXPECT_EQ(rod.status_after_data(), number(rob.source()) % 2 == 0);
                        EXPECT_EQ(rod.status_words().size(), 4U);
                        EXPECT_EQ(word(rod.status_words(), 0), 0U);
                        EXPECT_GE(word(rod.data(), 0), 0x1000U);
                        ASSERT_EQ(rod.words().size(), rod.data().size() / 4);
                        for (std::size_t i = 0; i < rod.words().size(); ++i)
                            EXPECT_EQ(rod.words()[i], word(rod.data(), i));
                        EXPECT_EQ(rob.bytes().data(), bytes.data() + rob.offset());
                    }).has_value());
        EXPECT_EQ(seen, sample_sources) << name(format);
    }
}

TEST(EventView, AVisitCanStopTheWalk) {
    const auto bytes = sample_event(Format::event_3_0);
    int visits = 0;
    const auto walked =
        for_each_rob(EventView::parse(bytes, Format::event_3_0).value(), [&](const FragmentView&) -> Result<> {
            return ++visits == 2 ? Result<>(fail(Errc::limit, "enough")) : Result<>();
        });
    EXPECT_EQ(walked.error().context, "enough");
    EXPECT_EQ(visits, 2);
}

TEST(EventView, CutShortAtAnyByteIsTruncatedNeverMisread) {
    for (const auto format : formats) {
        const auto whole =
            sample_event(format, format == Format::event_5_0 ? ChecksumType::adler32 : ChecksumType::none);
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const auto result = EventView::parse(ConstData(whole).first(size), format);
            ASSERT_FALSE(result.has_value()) << name(format) << " " << size;
            EXPECT_EQ(result.error().code, Errc::truncated) << result.error().context;
        }
    }
}

TEST(EventView, BytesBehindTheEventAreAnError) {
    for (const auto format : formats) {
        auto bytes = sample_event(format);
        bytes.resize(bytes.size() + 4);
        EXPECT_EQ(EventView::parse(bytes, format).error().code, Errc::corrupt);
    }
}

TEST(EventView, TheOtherFormatIsUnsupportedNeverMisread) {
    EXPECT_EQ(EventView::parse(sample_event(Format::event_3_0), Format::event_5_0).error().code, Errc::unsupported);
    EXPECT_EQ(EventView::parse(sample_event(Format::event_5_0), Format::event_3_0).error().code, Errc::unsupported);
    EXPECT_EQ(EventView::parse(sample_event(Format::event_5_0), Format::opaque).error().code, Errc::unsupported);
}

/// Every word that carries structure: the positions (bytes) of one fragment's.
std::vector<std::size_t> structural_words(const FragmentView& fragment) {
    std::vector<std::size_t> positions;
    const auto last_common = 6 + fragment.status_count();
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{5}, last_common})
        positions.push_back(fragment.offset() + i * word_bytes);
    return positions;
}

TEST(EventView, AFlippedBitInAnyStructuralWordIsAnErrorThatNamesLevelAndByte) {
    for (const auto format : formats) {
        const auto sums = format == Format::event_5_0 ? ChecksumType::adler32 : ChecksumType::none;
        const auto whole = sample_event(format, sums);
        const auto event = EventView::parse(whole, format).value();
        auto positions = structural_words(event.fragment());
        RobCursor cursor(event);
        while (const auto rob = cursor.next().value()) {
            for (const auto position : structural_words(*rob)) positions.push_back(position);
            for (const auto* parent : {&cursor.subdetector(), &cursor.ros()})
                if (*parent)
                    for (const auto position : structural_words(**parent)) positions.push_back(position);
            const auto rod = rob->payload_offset();
            for (const std::size_t i : {0U, 1U}) positions.push_back(rod + i * word_bytes);
            for (const std::size_t i : {3U, 2U}) positions.push_back(rod + rob->payload().size() - i * word_bytes);
        }
        for (const auto position : positions) {
            for (unsigned bit = 0; bit < 32; ++bit) {
                auto damaged = whole;
                store_little(MutableData(damaged), position, word(damaged, position / word_bytes) ^ (1U << bit));
                const auto result = check_event(damaged, format, Depth::fragments);
                ASSERT_FALSE(result.has_value()) << name(format) << " byte " << position << " bit " << bit;
                EXPECT_THAT(result.error().context, testing::HasSubstr(" fragment at byte ")) << position;
            }
        }
    }
}

TEST(EventView, ADamagedMarkerIsNamedWithItsOwnLevelAndByte) {
    const auto whole = sample_event(Format::event_3_0);
    const auto event = EventView::parse(whole, Format::event_3_0).value();
    RobCursor cursor(event);
    const auto rob = cursor.next().value().value();
    const std::pair<Level, std::size_t> places[] = {{Level::event, 0},
                                                    {Level::subdetector, cursor.subdetector()->offset()},
                                                    {Level::ros, cursor.ros()->offset()},
                                                    {Level::rob, rob.offset()},
                                                    {Level::rod, rob.payload_offset()}};
    for (const auto& [level, offset] : places) {
        auto damaged = whole;
        damaged[offset] ^= std::byte{1};
        const auto error = check_event(damaged, Format::event_3_0, Depth::fragments).error();
        EXPECT_EQ(error.code, Errc::corrupt);
        EXPECT_THAT(error.context, testing::StartsWith(std::string(name(level)) + " fragment at byte " +
                                                       std::to_string(offset) + ": marker"));
    }
}

TEST(EventView, AListLongerThanTheHeaderIsAnError) {
    auto bytes = sample_event(Format::event_5_0);
    const auto position = EventView::parse(bytes, Format::event_5_0).value().fragment().specific_position(12);
    for (const std::uint32_t count : {0U, 2U, 4U, 1000U, 0xffffffffU}) {
        store_little(MutableData(bytes), position, count);
        EXPECT_EQ(EventView::parse(bytes, Format::event_5_0).error().code, Errc::corrupt) << count;
    }
}

TEST(EventView, ASizeThatWouldOverflowIsTruncatedNotBelieved) {
    auto bytes = sample_event(Format::event_5_0);
    set_word(bytes, 1, 0xffffffff);
    EXPECT_EQ(EventView::parse(bytes, Format::event_5_0).error().code, Errc::truncated);
    set_word(bytes, 2, 0xffffffff);
    EXPECT_EQ(EventView::parse(bytes, Format::event_5_0).error().code, Errc::truncated);
}

}  // namespace
}  // namespace weir::event
