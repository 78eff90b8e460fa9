// SPDX-License-Identifier: Apache-2.0
// What the sources of events produce: valid events, new ids, the fractions of the workload, bounded memory.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "sample.hpp"
#include "weir/base/endian.hpp"
#include "weir/event/check.hpp"
#include "weir/event/event_builder.hpp"
#include "weir/event/raw_file.hpp"
#include "weir/event/rob_cursor.hpp"
#include "weir/workload/replay_source.hpp"
#include "weir/workload/synthetic_source.hpp"

namespace weir::workload {
namespace {

namespace fs = std::filesystem;

event::EventView view_of(const SourcedEvent& event, event::Format format) {
    auto view = event::EventView::parse(event.data, format);
    EXPECT_TRUE(view.has_value()) << (view ? "" : view.error().message());
    return std::move(*view);
}

/// Every fragment is right, and the event's headers agree with its description.
void expect_consistent(const SourcedEvent& event, const EventSource& source) {
    const auto checked =
        event::check_event(event.data, source.format(), event::Depth::fragments,
                           source.format() == event::Format::event_3_0 ? event::RodRules::bes3() : event::RodRules{});
    ASSERT_TRUE(checked.has_value()) << checked.error().message();
    EXPECT_EQ(checked->level1_mismatches, 0U);
    const auto view = view_of(event, source.format());
    EXPECT_EQ(view.ids().run, source.run());
    EXPECT_EQ(view.ids().global_id, event.global_id);
    EXPECT_EQ(view.ids().level1_id, event.level1_id);
    EXPECT_EQ(view.ids().lumi_block, event.lumi_block);
    EXPECT_LE(event.data.size(), source.event_size_max().count());
}

// The workload ---------------------------------------------------------------------------------------

TEST(SyntheticSource, EveryEventIsValidAndCarriesTheIdsAndTagsOfItsDescription) {
    SyntheticSource source({.run = RunNumber{7},
                            .seed = 3,
                            .first_id = GlobalEventId{1000},
                            .memory = 16_MiB,
                            .checksum = event::ChecksumType::adler32,
                            .begin = WallTime{std::chrono::seconds{1'700'000'000}}});
    for (std::uint64_t n = 0; n < 300; ++n) {
        const auto event = source.make(n);
        ASSERT_TRUE(event.has_value()) << n;
        expect_consistent(*event, source);
        EXPECT_EQ(event->global_id, GlobalEventId{1000 + n});
        EXPECT_EQ(event->level1_id, Level1Id{static_cast<std::uint32_t>(n + 1)});
        const auto view = view_of(*event, source.format());
        EXPECT_EQ(view.stream_tags(), event->tags);
        EXPECT_EQ(view.ids().time.seconds, 1'700'000'000U);  // 300 events are an eighth of a second
    }
}

TEST(SyntheticSource, TheFractionsOfThePaperComeOutOfALittleMemory) {
    SyntheticSource source({.memory = 32_MiB});
    constexpr std::uint64_t events = 10'000;
    double large_events = 0, bytes = 0, large_bytes = 0, express = 0;
    std::map<std::string, double> stream_bytes;
    for (std::uint64_t n = 0; n < events; ++n) {
        const auto event = source.make(n);
        ASSERT_TRUE(event.has_value());
        const auto size = static_cast<double>(event->data.size());
        bytes += size;
        stream_bytes[stream_key(event->tags.front())] += size;
        express += event->tags.size() == 2 ? 1 : 0;
        if (size > 32'000) {
            large_events += 1;
            large_bytes += size;
        }
    }
    EXPECT_NEAR(large_events / events, 0.82, 0.01);
    EXPECT_NEAR(large_bytes / bytes, 0.996, 0.001);
    EXPECT_GT(stream_bytes["physics_Main"] / bytes, 0.66);
    EXPECT_NEAR(express / events, 20 / 2260.5, 0.002);
    EXPECT_NEAR(bytes / events, 622'000, 622'000 * 0.02);
    EXPECT_EQ(stream_bytes.size(), 5U);
}

TEST(SyntheticSource, SizesNeedNoMoreMemoryThanAskedForAndFewEventsNeedLess) {
    const auto memory = SyntheticSource({.memory = 32_MiB}).memory();
    EXPECT_LE(memory, 32_MiB + 4_MiB);  // two of each rare kind
    EXPECT_GT(memory, 25_MiB);
    SyntheticSource few({.events = 3});
    EXPECT_LE(few.memory(), few.event_size_max() * 3);
    for (std::uint64_t n = 0; n < 3; ++n) EXPECT_TRUE(few.make(n).has_value());
}

TEST(SyntheticSource, AnEventUnderwayIsNotTouchedUntilItIsLetGo) {
    SyntheticSource source({.memory = 16_MiB});
    std::vector<SourcedEvent> underway;
    std::uint64_t n = 0;
    while (auto event = source.make(n)) {
        underway.push_back(std::move(*event));
        ASSERT_LT(++n, 10'000U);  // the memory ends
    }
    for (std::uint64_t i = 0; i < underway.size(); ++i)
        EXPECT_EQ(view_of(underway[i], source.format()).ids().global_id, GlobalEventId{1 + i});
    EXPECT_FALSE(source.make(n).has_value());
    underway.clear();
    EXPECT_TRUE(source.make(n).has_value());
}

TEST(SyntheticSource, EventsOutliveTheirSource) {
    std::optional<SourcedEvent> event;
    {
        SyntheticSource source({.events = 4});
        event = source.make(2);
    }
    EXPECT_EQ(view_of(*event, event::Format::event_5_0).ids().global_id, GlobalEventId{3});
}

TEST(SyntheticSource, LumiBlocksAndTimesFollowTheRatesOfTheProfile) {
    SyntheticSource source({.memory = 16_MiB, .begin = WallTime{std::chrono::seconds{1000}}});
    constexpr double rate = 2260.5;
    const auto first_of_second_block = static_cast<std::uint64_t>(rate * 60) + 1;
    EXPECT_EQ(source.make(first_of_second_block - 2)->lumi_block, LumiBlock{1});
    const auto event = source.make(first_of_second_block);
    EXPECT_EQ(event->lumi_block, LumiBlock{2});
    EXPECT_EQ(view_of(*event, source.format()).ids().time.seconds, 1060U);
}

TEST(SyntheticSource, TheSameSeedGivesTheSameEventsAndAnotherGivesOthers) {
    const auto bytes_of = [](std::uint64_t seed) {
        SyntheticSource source({.seed = seed, .events = 20});
        std::vector<std::byte> bytes;
        for (std::uint64_t n = 0; n < 20; ++n) {
            const auto event = source.make(n);
            EXPECT_TRUE(event.has_value());
            bytes.insert(bytes.end(), event->data.begin(), event->data.end());
        }
        return bytes;
    };
    EXPECT_EQ(bytes_of(5), bytes_of(5));
    EXPECT_NE(bytes_of(5), bytes_of(6));
}

TEST(SyntheticSource, AnUnknownProfileIsNamedWithTheNearest) {
    EXPECT_TRUE(find_profile("atlas2018").has_value());
    const auto unknown = find_profile("atlas2081");
    ASSERT_FALSE(unknown.has_value());
    EXPECT_EQ(unknown.error().code, Errc::usage);
    EXPECT_NE(unknown.error().context.find("did you mean \"atlas2018\""), std::string::npos) << unknown.error().context;
}

// The replay -----------------------------------------------------------------------------------------

class RealEvents : public event::RealFile {
protected:
    static fs::path path() { return event::test_data_folder() / "bes3" / "run_0091668_SFO-1_10events.raw"; }
};

class Replay : public testing::Test {
protected:
    void SetUp() override {
        std::string name = "/tmp/weir-replay-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }

    static void append(std::vector<std::byte>& to, ConstData data) { to.insert(to.end(), data.begin(), data.end()); }

    /// A raw file with those events, closed as it should be unless `end` is false.
    fs::path write(const std::string& name, event::Format format, const std::vector<std::vector<std::byte>>& events,
                   RunNumber run, bool end = true) const {
        event::FileHead head;
        head.version = event::file_version(format);
        head.run.run = run;
        if (head.version == event::file_version_current)
            head.metadata = event::compose_metadata(Guid::random(), {}, *parse_stream_key("debug_Test"), "data_test",
                                                    LumiBlock{0}, format);
        auto bytes = *event::encode_file_head(head);
        std::uint32_t number = 0;
        for (const auto& event : events) {
            std::array<std::byte, event::separator_size_bytes> separator;
            event::encode_separator(separator,
                                    {.block_number = ++number, .size = static_cast<std::uint32_t>(event.size())});
            append(bytes, separator);
            append(bytes, event);
        }
        std::array<std::byte, event::file_end_size_bytes> last;
        event::encode_file_end(last,
                               {.events_in_file = number, .events_in_sequence = number, .last_of_sequence = true});
        if (end) append(bytes, last);
        const auto path = folder_ / name;
        auto file = File::open(path, File::Mode::create_new);
        EXPECT_TRUE(file.has_value() && file->write_at(0, bytes).has_value());
        return path;
    }

    static std::vector<std::byte> sample(event::Compression compression = event::Compression::none) {
        SyntheticSource source({.run = RunNumber{44}, .seed = 9, .events = 1});
        const auto event = source.make(0);
        if (compression == event::Compression::none) return {event->data.begin(), event->data.end()};
        const auto view = view_of(*event, source.format());
        event::EventFields fields{
            .ids = view.ids(), .source = view.source(), .tags = *view.stream_tags(), .compression = compression};
        const std::vector<ConstData> robs = robs_of(view);
        return *event::build_event(fields, robs);
    }

    static std::vector<ConstData> robs_of(const event::EventView& view) {
        std::vector<ConstData> robs;
        const auto walked =
            event::for_each_rob(view, [&robs](const event::FragmentView& rob) { robs.push_back(rob.bytes()); });
        EXPECT_TRUE(walked.has_value());
        return robs;
    }

    static std::string error_of(const ReplayOptions& options) {
        const auto source = ReplaySource::open(options);
        EXPECT_FALSE(source.has_value());
        return source ? "" : source.error().message();
    }

    fs::path folder_;
};

TEST_F(RealEvents, BecomeManyDifferentOnes) {
    auto source = ReplaySource::open({.files = {path()}});
    ASSERT_TRUE(source.has_value()) << source.error().message();
    EXPECT_EQ((*source)->run(), RunNumber{91668});
    EXPECT_EQ((*source)->format(), event::Format::event_3_0);
    EXPECT_EQ((*source)->events_once(), 10U);
    std::set<GlobalEventId> ids;
    std::set<Level1Id> level1_ids;
    for (std::uint64_t n = 0; n < 35; ++n) {
        const auto event = (*source)->make(n);
        ASSERT_TRUE(event.has_value());
        expect_consistent(*event, **source);
        ids.insert(event->global_id);
        level1_ids.insert(event->level1_id);
        EXPECT_EQ(stream_key(event->tags.at(0)), "physics_run_0091668_SFO-1_10events");
    }
    EXPECT_EQ(ids.size(), 35U);
    EXPECT_EQ(level1_ids.size(), 35U);
}

TEST_F(RealEvents, KeptIdsAreThoseOfTheFileAndTheBytesToo) {
    auto source = ReplaySource::open({.files = {path()}, .keep_ids = true});
    ASSERT_TRUE(source.has_value()) << source.error().message();
    EXPECT_FALSE((*source)->repeats());
    const std::vector<std::uint64_t> recorded{199781, 199784, 199785, 199787, 199788,
                                              199786, 199790, 199789, 199793, 199794};
    for (std::uint64_t n = 0; n < 10; ++n) {
        const auto event = (*source)->make(n);
        EXPECT_EQ(event->global_id, GlobalEventId{recorded[n]});
        expect_consistent(*event, **source);
    }
}

TEST_F(Replay, EventsWithTagsKeepThemWhateverStreamIsNamedForTheOthers) {
    const auto path = write("a.data", event::Format::event_5_0, {sample()}, RunNumber{44});
    auto source =
        ReplaySource::open({.files = {path}, .run = RunNumber{45}, .stream = *parse_stream_key("debug_Other")});
    ASSERT_TRUE(source.has_value()) << source.error().message();
    const auto event = (*source)->make(17);
    expect_consistent(*event, **source);
    EXPECT_EQ(view_of(*event, event::Format::event_5_0).ids().run, RunNumber{45});
    EXPECT_EQ(view_of(*event, event::Format::event_5_0).stream_tags(), event->tags);
}

TEST_F(Replay, ACompressedEventIsUnpackedToGetItsNewIds) {
    const auto path = write("a.data", event::Format::event_5_0, {sample(event::Compression::zlib)}, RunNumber{44});
    auto source = ReplaySource::open({.files = {path}});
    ASSERT_TRUE(source.has_value()) << source.error().message();
    const auto event = (*source)->make(5);
    expect_consistent(*event, **source);
    EXPECT_EQ(view_of(*event, event::Format::event_5_0).compression(), event::Compression::none);
}

TEST_F(Replay, OpaqueEventsAreCountedAndGoToTheStreamOfTheFile) {
    const auto path =
        write("a.data", event::Format::opaque, {{std::byte{1}}, {std::byte{2}, std::byte{3}}}, RunNumber{44});
    auto source = ReplaySource::open({.files = {path}, .first_id = GlobalEventId{100}});
    ASSERT_TRUE(source.has_value()) << source.error().message();
    const auto event = (*source)->make(3);
    EXPECT_EQ(event->global_id, GlobalEventId{103});
    EXPECT_EQ(stream_key(event->tags.at(0)), "debug_Test");
    EXPECT_EQ(std::vector<std::byte>(event->data.begin(), event->data.end()),
              (std::vector<std::byte>{std::byte{2}, std::byte{3}}));
}

TEST_F(Replay, AFileWithoutItsEndIsReplayedAndReportedAsShort) {
    const auto path = write("a.data", event::Format::opaque, {{std::byte{1}}}, RunNumber{44}, false);
    auto source = ReplaySource::open({.files = {path}});
    ASSERT_TRUE(source.has_value()) << source.error().message();
    ASSERT_EQ((*source)->reports().size(), 1U);
    EXPECT_NE((*source)->reports()[0].find("a.data has no end record; whole events, which are sent: 1;"),
              std::string::npos);
}

TEST_F(Replay, CopiesUnderwayAreBounded) {
    const auto path = write("a.data", event::Format::event_5_0, {sample()}, RunNumber{44});
    auto source = ReplaySource::open({.files = {path}, .copies_size_max = 1_MiB});
    ASSERT_TRUE(source.has_value());
    std::vector<SourcedEvent> underway;
    while (auto event = (*source)->make(underway.size())) {
        underway.push_back(std::move(*event));
        ASSERT_LT(underway.size(), 100U);
    }
    EXPECT_GE(underway.size(), 2U);
    underway.pop_back();
    EXPECT_TRUE((*source)->make(underway.size()).has_value());
}

TEST_F(Replay, WhatCannotBeReplayedIsNamedWithFileAndReason) {
    EXPECT_NE(error_of({.files = {folder_ / "absent.raw"}}).find("absent.raw"), std::string::npos);
    const auto empty = write("empty.data", event::Format::opaque, {}, RunNumber{1});
    EXPECT_NE(error_of({.files = {empty}}).find("empty.data holds no event"), std::string::npos);
    const auto opaque = write("opaque.data", event::Format::opaque, {{std::byte{1}}}, RunNumber{1});
    const auto atlas = write("atlas.data", event::Format::event_5_0, {sample()}, RunNumber{44});
    EXPECT_NE(error_of({.files = {opaque, atlas}}).find("it holds event-5.0 events and the files before it opaque"),
              std::string::npos);
    EXPECT_NE(error_of({.files = {opaque}, .keep_ids = true}).find("no ids to keep"), std::string::npos);
    EXPECT_NE(error_of({.files = {opaque}, .files_size_max = 10_B}).find("larger than 10B"), std::string::npos);
    EXPECT_NE(error_of({.files = {atlas}, .run = RunNumber{3}, .keep_ids = true}).find("keeps run 44"),
              std::string::npos);
    auto broken = sample();
    broken.resize(broken.size() - 4);
    const auto damaged = write("damaged.data", event::Format::event_5_0, {sample(), broken}, RunNumber{44});
    EXPECT_NE(error_of({.files = {damaged}}).find("damaged.data: event 2: "), std::string::npos)
        << error_of({.files = {damaged}});
}

TEST(StreamOfFile, IsThatOfTheHeadThenThatOfTheNameThenTheNameItself) {
    const fs::path recorded = "data_test.00091668.physics_Main.daq.RAW._lb0000._recorder._0001.data";
    EXPECT_EQ(stream_key(stream_of_file(recorded, "debug_Head")), "debug_Head");
    EXPECT_EQ(stream_key(stream_of_file(recorded, std::nullopt)), "physics_Main");
    EXPECT_EQ(stream_key(stream_of_file(recorded, "no stream")), "physics_Main");
    EXPECT_EQ(stream_key(stream_of_file("some/where/run_12.raw", std::nullopt)), "physics_run_12");
    EXPECT_EQ(stream_key(stream_of_file("some/where/a b.raw", std::nullopt)), "physics_Replay");
}

}  // namespace
}  // namespace weir::workload
