// SPDX-License-Identifier: Apache-2.0
// What the catalogue has of lumi blocks, of the events of each file and of what streams share, while a recorder runs,
// after it died, and when it is rebuilt.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "weir/catalogue/catalogue_place.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"
#include "weir/recovery/rebuild.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class RecorderBlocks : public testing::RecordingFixture {
protected:
    RecorderBlocks() { options_.lumi_block_grace = 100ms; }

    void send(delivery::Sender& sender, std::uint64_t id, std::uint32_t block, std::vector<StreamTag> tags) {
        ASSERT_TRUE(
            sender.send({GlobalEventId{id}, {}, LumiBlock{block}, std::move(tags)}, event(id, 2000)).has_value());
    }
    void send(delivery::Sender& sender, std::uint64_t id, std::uint32_t block) {
        send(sender, id, block, {stream("physics_Main")});
    }

    /// OPENED and CLOSED as they stand, in the order of streams and blocks.
    std::vector<std::string> states() const {
        std::vector<std::string> states;
        const auto rows = catalogue()->lumi_blocks(*options_.run).value();
        for (const auto& row : rows)
            states.push_back(row.stream_name + " " + std::to_string(number(row.lumi_block)) + " " +
                             std::string(name(row.state)));
        return states;
    }
    bool comes_to(const std::vector<std::string>& wanted) const {
        const auto end = clock_.now() + 60s;
        while (states() != wanted && clock_.now() < end) std::this_thread::sleep_for(5ms);
        return states() == wanted;
    }

    /// Counted over the events in the indexes of all files: how many each pair of streams shares, whatever the
    /// catalogue has.
    std::vector<catalogue::StreamOverlap> counted_over_the_files() const {
        std::map<std::string, std::set<std::uint64_t>> events;
        for (const auto& path : data_files()) {
            const auto index = datafile::StoredIndex::read(datafile::index_path_of(path)).value();
            for (const auto& copy : index.copies)
                events[index.opened.stream_type + "_" + index.opened.stream_name].insert(number(copy.event));
        }
        std::vector<catalogue::StreamOverlap> overlaps;
        for (const auto& [first, in_first] : events) {
            for (const auto& [second, in_second] : events) {
                if (!(first < second)) continue;
                const auto both = std::ranges::count_if(in_first, [&](auto id) { return in_second.contains(id); });
                if (both > 0)
                    overlaps.push_back({*options_.run, first, second, in_first.size(), in_second.size(),
                                        static_cast<std::uint64_t>(both)});
            }
        }
        return overlaps;
    }
};

/// Goes on as the real one does, and jumps when a test moves it: grace times pass then, and only then.
class JumpingClock final : public Clock {
public:
    SteadyTime now() const noexcept override { return real_.now() + ahead(); }
    WallTime wall() const noexcept override {
        return real_.wall() + std::chrono::duration_cast<WallTime::duration>(ahead());
    }
    void jump(std::chrono::nanoseconds by) noexcept { ahead_.fetch_add(by.count(), std::memory_order_relaxed); }

private:
    std::chrono::nanoseconds ahead() const noexcept {
        return std::chrono::nanoseconds{ahead_.load(std::memory_order_relaxed)};
    }

    SystemClock real_;
    std::atomic<std::int64_t> ahead_{0};  // relaxed: only the number counts
};

TEST_F(RecorderBlocks, ABlockIsClosedWhileTheRunGoesOnAndALateEventOpensItAgain) {
    JumpingClock clock;
    options_.lumi_block_grace = 10min;
    // One grace time for the file, another one for the row.
    const auto comes_to_when_time_passes = [&](const std::vector<std::string>& wanted) {
        const auto end = clock_.now() + 60s;
        while (states() != wanted && clock_.now() < end) {
            clock.jump(options_.lumi_block_grace);
            std::this_thread::sleep_for(50ms);
        }
        return states() == wanted;
    };
    using States = std::vector<std::string>;
    const auto recorder = Recorder::open(options_, {}, clock).value();
    recorder->start();
    auto sender = connect(*recorder);
    send(*sender, 1, 1);
    send(*sender, 2, 1, {stream("debug_Rare")});
    ASSERT_TRUE(flushed(*sender));
    EXPECT_EQ(states(), (States{"Rare 1 OPENED", "Main 1 OPENED"}));
    send(*sender, 3, 2);  // the other stream has no event of it, and its block is over all the same
    ASSERT_TRUE(flushed(*sender));
    EXPECT_EQ(states(), (States{"Rare 1 OPENED", "Main 1 OPENED", "Main 2 OPENED"}));
    EXPECT_TRUE(comes_to_when_time_passes({"Rare 1 CLOSED", "Main 1 CLOSED", "Main 2 OPENED"}));
    send(*sender, 4, 1);
    ASSERT_TRUE(flushed(*sender));
    EXPECT_EQ(states(), (States{"Rare 1 CLOSED", "Main 1 OPENED", "Main 2 OPENED"}));
    EXPECT_TRUE(comes_to_when_time_passes({"Rare 1 CLOSED", "Main 1 CLOSED", "Main 2 OPENED"}));
    const auto of_block_1 =
        catalogue()->files({.run = options_.run, .stream_name = "Main", .lumi_block = LumiBlock{1}}).value();
    ASSERT_EQ(of_block_1.size(), 2U);
    for (const auto& file : of_block_1) EXPECT_EQ(file.file_state, catalogue::FileState::closed);
    ASSERT_TRUE(recorder->stop(60s).has_value());
}

TEST_F(RecorderBlocks, ABlockThatACrashLeftOpenIsClosedByTheNextRecorderOfTheRun) {
    {
        const auto recorder = start();
        const auto sender = connect(*recorder);
        send(*sender, 1, 1);
        send(*sender, 2, 2);
        ASSERT_TRUE(flushed(*sender));
    }  // as after a crash
    const auto recorder = start();
    EXPECT_TRUE(comes_to({"Main 1 CLOSED", "Main 2 OPENED"}));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    EXPECT_EQ(states(), (std::vector<std::string>{"Main 1 CLOSED", "Main 2 CLOSED"}));
}

TEST_F(RecorderBlocks, EachFileHasItsFirstAndLastEventHoweverItWasClosed) {
    const auto check = [&](std::size_t files) {
        const auto rows = catalogue()->files().value();
        EXPECT_EQ(rows.size(), files);
        for (const auto& row : rows) {
            const auto index =
                datafile::StoredIndex::read(datafile::index_path_of(std::filesystem::path(row.volume) / row.name))
                    .value();
            std::set<GlobalEventId> events;
            for (const auto& copy : index.copies) events.insert(copy.event);
            EXPECT_EQ(row.first_event, *events.begin()) << row.name;
            EXPECT_EQ(row.last_event, *events.rbegin()) << row.name;
        }
    };
    {
        const auto recorder = start();
        const auto sender = connect(*recorder);
        for (const std::uint64_t id : {7U, 3U, 5U}) send(*sender, id, 1);
        ASSERT_TRUE(flushed(*sender));
    }  // as after a crash
    {
        const auto recorder = start();
        const auto sender = connect(*recorder);
        for (const std::uint64_t id : {9U, 8U, 11U}) send(*sender, id, 1);
        ASSERT_TRUE(flushed(*sender));
        ASSERT_TRUE(recorder->stop(60s).has_value());
    }
    check(2);
    std::filesystem::remove(catalogue::catalogue_path(directory_));
    ASSERT_TRUE(recovery::rebuild_catalogue(options_.directories, *catalogue(), clock_).has_value());
    check(2);
}

TEST_F(RecorderBlocks, WhatStreamsShareIsCountedOnceThroughCrashesAndByARebuild) {
    options_.file_events_max = 5;
    const std::vector streams{stream("physics_Main"), stream("express_express"), stream("calibration_Tile"),
                              stream("debug_Rare")};
    std::mt19937 random{17};
    options_.receiver.listen = port_.address();
    auto recorder = start();
    auto sender_options = sender_options_for(recorder->port());
    sender_options.backoff_first = 5ms;
    const auto sender = delivery::Sender::open(sender_options).value();
    std::uint64_t id = 0;
    for (int crash = 0; crash < 12; ++crash) {
        const auto acknowledged = sender->stats().acknowledged;
        for (int i = 0; i < 20; ++i) {
            auto tags = streams;
            std::ranges::shuffle(tags, random);
            tags.resize(1 + random() % tags.size());
            send(*sender, ++id, 1 + static_cast<std::uint32_t>(crash), tags);
        }
        while (sender->stats().acknowledged < acknowledged + 10) std::this_thread::sleep_for(1ms);
        recorder.reset();  // no stop(): as after a crash
        recorder = start();
    }
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    const auto counted = counted_over_the_files();
    EXPECT_EQ(counted.size(), 6U);
    EXPECT_EQ(catalogue()->overlaps(*options_.run).value(), counted);
    std::filesystem::remove(catalogue::catalogue_path(directory_));
    ASSERT_TRUE(recovery::rebuild_catalogue(options_.directories, *catalogue(), clock_).has_value());
    EXPECT_EQ(catalogue()->overlaps(*options_.run).value(), counted);
}

TEST_F(RecorderBlocks, WhatFilesShareOutlivesTheFiles) {
    const auto recorder = start();
    const auto sender = connect(*recorder);
    for (std::uint64_t id = 1; id <= 4; ++id) {
        std::vector tags{stream("physics_Main")};
        if (id > 1) tags.push_back(stream("express_express"));
        send(*sender, id, 1, tags);
    }
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    hand_over_and_delete();
    const std::vector<catalogue::StreamOverlap> overlaps{{*options_.run, "express_express", "physics_Main", 3, 4, 3}};
    EXPECT_EQ(catalogue()->overlaps(*options_.run).value(), overlaps);
    ASSERT_TRUE(recovery::rebuild_catalogue(options_.directories, *catalogue(), clock_).has_value());
    EXPECT_EQ(catalogue()->overlaps(*options_.run).value(), overlaps);
}

}  // namespace
}  // namespace weir::recorder
