// SPDX-License-Identifier: Apache-2.0
// Recordings over real sockets into real files, small ones.
#include "weir/recorder/recorder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <thread>

#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/partial.hpp"
#include "weir/event/rob_cursor.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class RecorderTest : public testing::RecordingFixture {};

TEST_F(RecorderTest, EveryCopyIsStoredOnceAndTheBytesAreTheOnesSent) {
    auto recorder = start();
    auto sender = connect(*recorder);
    std::map<std::uint64_t, std::vector<std::byte>> sent;
    for (std::uint64_t id = 1; id <= 50; ++id) {
        sent[id] = event(id, 3000 + id * 40);
        std::vector<StreamTag> tags{stream("physics_Main")};
        if (id % 10 == 0) tags.push_back(stream("express_express"));
        ASSERT_TRUE(sender->send({GlobalEventId{id}, Level1Id{7}, LumiBlock{1}, tags}, sent[id]).has_value());
    }
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    const auto summary = recorder->summary();
    EXPECT_EQ(summary.copies_received, 55U);
    EXPECT_EQ(summary.copies_stored, 55U);
    EXPECT_EQ(summary.copies_in_hand, 0U);
    EXPECT_EQ(summary.files, 2U);
    std::size_t seen = 0;
    for (const auto& path : data_files()) {
        auto reader = datafile::RawFileReader::open(path).value();
        std::vector<std::byte> bytes;
        while (reader.next(bytes).value()) {
            const auto id = number(event::EventView::parse(bytes, event::Format::event_5_0)->ids().global_id);
            EXPECT_EQ(bytes, sent.at(id));
            ++seen;
        }
        EXPECT_TRUE(reader.end().has_value());
    }
    EXPECT_EQ(seen, 55U);
    expect_all_good(2);
}

TEST_F(RecorderTest, APartialStreamGetsOnlyItsRobs) {
    auto recorder = start();
    auto sender = connect(*recorder);
    const auto whole = event(1, 20'000);
    const auto view = event::EventView::parse(whole, event::Format::event_5_0).value();
    std::vector<SourceId> sources;
    ASSERT_TRUE(event::for_each_rob(view, [&](const event::FragmentView& rob) { sources.push_back(rob.source()); }));
    ASSERT_GT(sources.size(), 3U);
    auto tag = stream("calibration_Tile");
    tag.robs = {sources[1], sources[3]};
    ASSERT_TRUE(sender->send({GlobalEventId{1}, {}, LumiBlock{1}, {stream("physics_Main"), tag}}, whole).has_value());
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    expect_all_good(2);
    for (const auto& path : data_files()) {
        auto reader = datafile::RawFileReader::open(path).value();
        std::vector<std::byte> bytes;
        ASSERT_TRUE(reader.next(bytes).value());
        std::size_t robs = 0;
        const auto stored = event::EventView::parse(bytes, event::Format::event_5_0).value();
        ASSERT_TRUE(event::for_each_rob(stored, [&](const event::FragmentView&) { ++robs; }));
        EXPECT_EQ(robs, path.native().find("Tile") != std::string::npos ? 2U : sources.size());
    }
}

TEST_F(RecorderTest, FilesRotateByEventsAndBlockNumbersRunOn) {
    options_.file_events_max = 7;
    auto recorder = start();
    auto sender = connect(*recorder);
    for (std::uint64_t id = 1; id <= 20; ++id)
        ASSERT_TRUE(
            sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 2000)).has_value());
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    const auto files = data_files();
    ASSERT_EQ(files.size(), 3U);
    std::uint32_t block = 0;
    for (const auto& path : files) {
        auto reader = datafile::RawFileReader::open(path).value();
        std::vector<std::byte> bytes;
        while (const auto next = reader.next(bytes).value()) EXPECT_EQ(next->separator.block_number, ++block);
        EXPECT_EQ(reader.end()->events_in_sequence, block);
        EXPECT_EQ(reader.end()->last_of_sequence, block == 20);
    }
    EXPECT_EQ(block, 20U);
    expect_all_good(3);
}

TEST_F(RecorderTest, EachLumiBlockHasItsOwnFiles) {
    auto recorder = start();
    auto sender = connect(*recorder);
    for (std::uint64_t id = 1; id <= 9; ++id)
        ASSERT_TRUE(sender
                        ->send({GlobalEventId{id},
                                {},
                                LumiBlock{static_cast<std::uint32_t>(id % 3 + 1)},
                                {stream("physics_Main")}},
                               event(id, 2000))
                        .has_value());
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    const auto files = data_files();
    ASSERT_EQ(files.size(), 3U);
    EXPECT_NE(files[2].native().find("_lb0003._weir._0001.data"), std::string::npos) << files[2];
    expect_all_good(3);
}

TEST_F(RecorderTest, OpaqueEventsOfAnyLengthAreKeptExactly) {
    auto recorder = start();
    auto sender = connect(*recorder, wire::EventFormat::opaque);
    for (std::size_t size : {1U, 2U, 3U, 4U, 5U, 4095U, 4096U, 70'001U}) {
        const std::vector<std::byte> bytes(size, std::byte{static_cast<unsigned char>(size)});
        ASSERT_TRUE(
            sender->send({GlobalEventId{size}, {}, LumiBlock{1}, {stream("physics_Testbeam")}}, bytes).has_value());
    }
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    expect_all_good(1);
    auto reader = datafile::RawFileReader::open(data_files().front()).value();
    std::vector<std::byte> bytes;
    std::size_t events = 0;
    while (reader.next(bytes).value()) {
        EXPECT_EQ(bytes, std::vector<std::byte>(bytes.size(), std::byte{static_cast<unsigned char>(bytes.size())}));
        ++events;
    }
    EXPECT_EQ(events, 8U);
}

TEST_F(RecorderTest, TheLedgerAgreesWithTheFilesAndCountsWhatWasRejected) {
    auto recorder = start();
    auto sender = connect(*recorder);
    for (std::uint64_t id = 1; id <= 5; ++id)
        ASSERT_TRUE(
            sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 5000)).has_value());
    auto broken = event(6, 5000);
    broken[4] ^= std::byte{1};
    ASSERT_TRUE(sender->send({GlobalEventId{6}, {}, LumiBlock{1}, {stream("physics_Main")}}, broken).has_value());
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    const auto rows = catalogue()->ledgers(*options_.run).value();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].received, 6U);
    EXPECT_EQ(rows[0].stored, 5U);
    EXPECT_EQ(rows[0].rejected.at("malformed_event"), 1U);
}

TEST_F(RecorderTest, AMalformedEventIsRejectedAndTheNextIsStored) {
    auto recorder = start();
    std::map<wire::RejectReason, int> rejected;
    auto sender_options = sender_options_for(recorder->port());
    std::mutex mutex;
    sender_options.on_final = [&](Sequence, std::optional<wire::RejectReason> reason) {
        const std::scoped_lock lock(mutex);
        if (reason) ++rejected[*reason];
    };
    auto sender = delivery::Sender::open(sender_options).value();
    auto broken = event(1, 5000);
    broken[4] ^= std::byte{1};  // total size
    ASSERT_TRUE(sender->send({GlobalEventId{1}, {}, LumiBlock{1}, {stream("physics_Main")}}, broken).has_value());
    ASSERT_TRUE(sender
                    ->send({GlobalEventId{2}, {}, LumiBlock{1}, {stream("physics_Main"), stream("physics_Main")}},
                           event(2, 5000))
                    .has_value());
    ASSERT_TRUE(
        sender->send({GlobalEventId{3}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(3, 5000)).has_value());
    ASSERT_TRUE(flushed(*sender));
    sender->close();  // the last answer is sent a moment after it counts
    ASSERT_TRUE(recorder->stop(60s).has_value());
    const auto summary = recorder->summary();
    EXPECT_EQ(rejected[wire::RejectReason::malformed_event], 1);
    EXPECT_EQ(rejected[wire::RejectReason::bad_tag], 1);
    EXPECT_EQ(summary.copies_received, 4U);
    EXPECT_EQ(summary.copies_stored, 1U);
    EXPECT_EQ(summary.copies_rejected.at("malformed_event"), 1U);
    expect_all_good(1);
}

TEST_F(RecorderTest, EveryModeStoresTheSameBytesAndSums) {
    std::map<std::string, std::string> sums;
    std::uint32_t run = 17;
    for (const auto mode : {Mode::receipt, Mode::original, Mode::parallel, Mode::off}) {
        options_.mode = mode;
        options_.run = RunNumber{run++};
        auto recorder = start();
        auto sender = connect(*recorder);
        for (std::uint64_t id = 1; id <= 30; ++id)
            ASSERT_TRUE(
                sender
                    ->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main"), stream("express_express")}},
                           event(id, 100'000))
                    .has_value());
        ASSERT_TRUE(flushed(*sender)) << name(mode);
        ASSERT_TRUE(recorder->stop(60s).has_value()) << name(mode);
        EXPECT_EQ(recorder->summary().copies_stored, 60U) << name(mode);
    }
    expect_all_good(8);
}

TEST_F(RecorderTest, ASlowDiskMakesTheSendersWaitAndLosesNothing) {
    class Slow : public FileSystem {
    public:
        ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) override {
            std::this_thread::sleep_for(2ms);
            return FileSystem::pwrite(fd, from, size, offset);
        }
    } slow;
    options_.memory = 8_MiB;
    options_.segment = 64_KiB;
    options_.receiver.event_size_max = 1_MiB;
    options_.streams_max = 4;
    options_.direct = DirectIo::off;
    auto recorder = Recorder::open(options_, {}, clock_, slow).value();
    recorder->start();
    std::vector<std::unique_ptr<delivery::Sender>> senders;
    for (std::uint32_t n = 0; n < 4; ++n) {
        auto sender_options = sender_options_for(recorder->port());
        sender_options.connection = n;
        senders.push_back(delivery::Sender::open(sender_options).value());
    }
    for (std::uint64_t id = 1; id <= 100; ++id)
        ASSERT_TRUE(senders[id % 4]
                        ->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 300'000))
                        .has_value());
    for (auto& sender : senders) ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    EXPECT_EQ(recorder->summary().copies_stored, 100U);
    expect_all_good(1);
}

TEST_F(RecorderTest, ManySmallEventsWaitForTheSyncAndNotInMemory) {
    class Held : public FileSystem {
    public:
        int fdatasync(int fd) override {
            held.wait(true);
            return FileSystem::fdatasync(fd);
        }
        void release() {
            held = false;
            held.notify_all();
        }
        std::atomic<bool> held{false};
    } disk;
    constexpr std::uint64_t events = 3000;
    options_.memory = 8_MiB;
    options_.receiver.event_size_max = 1_MiB;
    options_.streams_max = 4;
    const auto copies_max = options_.memory.count() / 8192;
    auto recorder = Recorder::open(options_, {}, clock_, disk).value();
    recorder->start();
    auto sender = connect(*recorder, wire::EventFormat::opaque);
    disk.held = true;
    const std::vector<std::byte> bytes(64, std::byte{7});
    for (std::uint64_t id = 1; id <= events; ++id)
        EXPECT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, bytes).has_value());
    const auto deadline = clock_.now() + 60s;
    while (recorder->summary().receiver.waits_for_sink == 0 && clock_.now() < deadline)
        std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(recorder->summary().copies_in_hand, copies_max);
    EXPECT_GT(recorder->summary().segments_free, 0U);  // it is not the bytes that fill the memory
    EXPECT_EQ(sender->stats().acknowledged, 0U);
    disk.release();
    EXPECT_TRUE(flushed(*sender));
    EXPECT_EQ(sender->stats().acknowledged, events);
    ASSERT_TRUE(recorder->stop(60s).has_value());
    EXPECT_EQ(recorder->summary().copies_stored, events);
    expect_all_good(1);
}

TEST_F(RecorderTest, OnlyAFileAfterWhichNoneCanComeIsMarkedAsTheLast) {
    options_.lumi_block_grace = 1ms;
    ManualClock clock;  // no grace time is over before the test moves it
    for (const auto late : {LatePolicy::new_file, LatePolicy::reject}) {
        options_.late = late;
        auto recorder = Recorder::open(options_, {}, clock).value();
        recorder->start();
        auto sender = connect(*recorder);
        std::uint64_t id = 0;
        for (const std::uint32_t block : {1U, 2U, 1U}) {  // the third is late
            ++id;
            ASSERT_TRUE(
                sender->send({GlobalEventId{id}, {}, LumiBlock{block}, {stream("physics_Main")}}, event(id, 3000))
                    .has_value());
            ASSERT_TRUE(flushed(*sender));
            if (block == 2) clock.advance(1s);
            while (block == 2 && recorder->summary().files == 0) std::this_thread::sleep_for(1ms);  // block 1 is closed
        }
        ASSERT_TRUE(recorder->stop(60s).has_value());
        std::map<std::string, bool> says_last;
        for (const auto& path : data_files()) {
            const auto name = path.stem().native();
            if (name.find(fmt::format(".{:08}.", number(*options_.run))) == std::string::npos) continue;
            auto reader = datafile::RawFileReader::open(path).value();
            std::vector<std::byte> bytes;
            while (reader.next(bytes).value()) {
            }
            says_last[name.substr(name.size() - std::string_view("lb0001._weir._0001").size())] =
                reader.end()->last_of_sequence;
        }
        using Expected = std::map<std::string, bool>;
        if (late == LatePolicy::new_file) {
            EXPECT_EQ(
                says_last,
                (Expected{{"lb0001._weir._0001", false}, {"lb0001._weir._0002", true}, {"lb0002._weir._0001", true}}));
        } else {
            EXPECT_EQ(says_last, (Expected{{"lb0001._weir._0001", true}, {"lb0002._weir._0001", true}}));
        }
        options_.run = RunNumber{number(*options_.run) + 1};
    }
}

TEST_F(RecorderTest, ALateEventIsRejectedWhenThatIsThePolicyAndNeverAcknowledged) {
    options_.late = LatePolicy::reject;
    options_.lumi_block_grace = 1ms;
    auto recorder = start();
    std::mutex mutex;
    std::vector<std::optional<wire::RejectReason>> answers;
    auto sender_options = sender_options_for(recorder->port());
    sender_options.on_final = [&](Sequence, std::optional<wire::RejectReason> reason) {
        const std::scoped_lock lock(mutex);
        answers.push_back(reason);
    };
    auto sender = delivery::Sender::open(sender_options).value();
    const auto send = [&](std::uint64_t id, std::uint32_t block) {
        ASSERT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{block}, {stream("physics_Main")}}, event(id, 3000))
                        .has_value());
        ASSERT_TRUE(flushed(*sender));
    };
    send(1, 1);
    send(2, 2);
    while (recorder->summary().files == 0) std::this_thread::sleep_for(1ms);  // block 1 is closed
    send(3, 1);
    sender->close();  // the last answer is sent a moment after it counts
    ASSERT_TRUE(recorder->stop(60s).has_value());
    const std::scoped_lock lock(mutex);
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers.back(), wire::RejectReason::late);
    EXPECT_EQ(recorder->summary().copies_stored, 2U);
    EXPECT_EQ(recorder->summary().copies_rejected.at("late"), 1U);
}

TEST_F(RecorderTest, ADirectoryMayBeSpelledWithASlashAtItsEnd) {
    options_.directories = {directory_.native() + "/"};
    auto recorder = start();
    auto sender = connect(*recorder);
    ASSERT_TRUE(
        sender->send({GlobalEventId{1}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(1, 3000)).has_value());
    ASSERT_TRUE(flushed(*sender));
    EXPECT_TRUE(recorder->stop(60s).has_value());
    expect_all_good(1);
}

}  // namespace
}  // namespace weir::recorder
