// SPDX-License-Identifier: Apache-2.0
// Ten events of the BES III detector: what a real recorder wrote, not we.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sample.hpp"
#include "weir/event/check.hpp"
#include "weir/event/partial.hpp"
#include "weir/event/raw_file_index.hpp"
#include "weir/event/restamp.hpp"
#include "weir/event/rob_cursor.hpp"

namespace weir::event {
namespace {

constexpr auto format = Format::event_3_0;
const RunNumber run{91668};
const SourceId ahead{0xa80010};
const SourceId uncounted{0x7c0000};

class RealEvents : public RealFile {
protected:
    void SetUp() override {
        RealFile::SetUp();
        if (bytes.empty()) return;
        auto made = RawFileIndex::make(bytes);
        ASSERT_TRUE(made.has_value()) << made.error().context;
        index = std::move(*made);
        for (const auto& block : index.blocks)
            events.push_back(ConstData(bytes).subspan(block.offset, block.separator.size));
    }

    RawFileIndex index;
    std::vector<ConstData> events;
};

TEST_F(RealEvents, TheHeadIsReadAndWrittenAgainByteForByte) {
    EXPECT_EQ(index.head.version, 2U);
    EXPECT_EQ(index.head.application, "SFO-1");
    EXPECT_EQ(index.head.name_core, "All");
    EXPECT_EQ(index.head.run.run, run);
    EXPECT_EQ(index.head.format(), format);
    EXPECT_EQ(index.head.opened,
              (CalendarTime{.year = 2026, .month = 4, .day = 8, .hour = 12, .minute = 3, .second = 40}));
    const auto head = encode_file_head(index.head).value();
    EXPECT_TRUE(std::ranges::equal(head, ConstData(bytes).first(index.head_size)));
}

TEST_F(RealEvents, TheWholeFileIsWrittenAgainByteForByte) {
    auto again = encode_file_head(index.head).value();
    for (std::size_t i = 0; i < events.size(); ++i) {
        std::array<std::byte, separator_size_bytes> separator{};
        encode_separator(separator, index.blocks[i].separator);
        again.insert(again.end(), separator.begin(), separator.end());
        again.insert(again.end(), events[i].begin(), events[i].end());
    }
    std::array<std::byte, file_end_size_bytes> end{};
    encode_file_end(end, index.end.value());
    again.insert(again.end(), end.begin(), end.end());
    EXPECT_EQ(again, bytes);
}

TEST_F(RealEvents, TenEventsComeInTheOrderOfTheirCompletion) {
    std::vector<std::uint64_t> numbers;
    for (const auto event : events) {
        const auto view = EventView::parse(event, format);
        ASSERT_TRUE(view.has_value()) << view.error().context;
        EXPECT_EQ(view->ids().run, run);
        numbers.push_back(number(view->ids().global_id));
    }
    EXPECT_EQ(numbers, (std::vector<std::uint64_t>{199781, 199784, 199785, 199787, 199788, 199786, 199790, 199789,
                                                   199793, 199794}));
    EXPECT_EQ(index.end.value().events_in_file, 10U);
}

TEST_F(RealEvents, EachHas42RobsOfWhichOneCountsAheadAndOneNotAtAll) {
    for (const auto event : events) {
        const auto report = check_event(event, format, Depth::fragments).value();
        EXPECT_EQ(report.robs, 42U);
        EXPECT_EQ(report.level1_mismatches, 2U);
        EXPECT_EQ(report.run_mismatches, 41U);
        EXPECT_EQ(report.source_mismatches, 0U);
        auto rules = RodRules::bes3();
        rules.reject_level1_mismatch = true;
        EXPECT_EQ(check_event(event, format, Depth::fragments, rules).value().level1_mismatches, 0U);

        std::set<SourceId> sources;
        std::size_t smallest = event.size();
        std::size_t largest = 0;
        const auto view = EventView::parse(event, format).value();
        ASSERT_TRUE(
            for_each_rob(view, [&](const FragmentView& rob) {
                sources.insert(rob.source());
                smallest = std::min(smallest, rob.bytes().size());
                largest = std::max(largest, rob.bytes().size());
                const auto rod = RodView::parse(rob.payload(), rob.payload_offset()).value();
                const auto id = number(view.ids().level1_id);
                EXPECT_EQ(number(rod.level1_id()), rob.source() == ahead ? id + 1 : rob.source() == uncounted ? 0 : id);
            }).has_value());
        EXPECT_EQ(sources.size(), 42U);
        EXPECT_GE(smallest, 84U);
        EXPECT_LE(largest, 1932U);
    }
}

TEST_F(RealEvents, ACutOneIsValidAndKeepsTheFragmentsAroundItsRobs) {
    const StreamTag tag{.type = "calibration",
                        .name = "Drift",
                        .obeys_lumi_block = false,
                        .robs = {SourceId{0xa50001}},
                        .detectors = {0xa1}};
    for (const auto event : events) {
        const auto view = EventView::parse(event, format).value();
        const auto cut = cut_event(view, tag).value().to_bytes();
        const auto report = check_event(cut, format, Depth::fragments, {.reject_level1_mismatch = true});
        ASSERT_TRUE(report.has_value()) << report.error().context;
        EXPECT_EQ(report->robs, 17U);  // 16 of 0xa1, one of 0xa5

        std::map<SourceId, SourceId> ros_before;
        RobCursor before(view);
        while (const auto rob = before.next().value()) ros_before[rob->source()] = before.ros()->source();
        RobCursor after(EventView::parse(cut, format).value());
        while (const auto rob = after.next().value()) EXPECT_EQ(after.ros()->source(), ros_before[rob->source()]);
    }
}

TEST_F(RealEvents, CutForAllItsSubdetectorsItDiffersOnlyByTheStatusBit) {
    for (const auto event : events) {
        auto tag = parse_stream_key("calibration_All").value();
        tag.detectors = {0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa7, 0x7c, 0xa8};
        auto cut = cut_event(EventView::parse(event, format).value(), tag).value().to_bytes();
        ASSERT_EQ(cut.size(), event.size());
        cut[27] ^= std::byte{0x80};
        EXPECT_TRUE(std::ranges::equal(cut, event));
    }
}

TEST_F(RealEvents, AStampedOneKeepsTheHabitsOfItsSources) {
    for (const auto event : events) {
        std::vector<std::byte> copy(event.begin(), event.end());
        const auto plan = RestampPlan::make(event, format).value();
        const EventIds ids{.run = RunNumber{5},
                           .global_id = GlobalEventId{1'000'000},
                           .level1_id = Level1Id{1'000'000},
                           .lumi_block = {},
                           .time = {.seconds = 7}};
        plan.apply(copy, ids);
        EXPECT_EQ(EventView::parse(copy, format).value().ids(), ids);
        auto rules = RodRules::bes3();
        rules.reject_level1_mismatch = true;
        const auto report = check_event(copy, format, Depth::fragments, rules);
        ASSERT_TRUE(report.has_value()) << report.error().context;
        EXPECT_EQ(report->run_mismatches, 41U);
        plan.apply(copy, EventView::parse(event, format).value().ids());
        EXPECT_TRUE(std::ranges::equal(copy, event));
    }
}

}  // namespace
}  // namespace weir::event
