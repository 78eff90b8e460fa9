// SPDX-License-Identifier: Apache-2.0
// A recorder that starts where another one was: after a crash, in a closed run, in a directory that is in use.
#include "weir/recorder/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "ruled_file_system.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/event/event_view.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"
#include "weir/recovery/recovery.hpp"
#include "weir/recovery/run_holdings.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class RecorderRestart : public testing::RecordingFixture {
protected:
    /// Five events of a sender that sends all of them again, to any recorder.
    void send_all(const Recorder& recorder, std::vector<StreamTag> tags = {stream("physics_Main")}) {
        auto sender_options = sender_options_for(recorder.port());
        sender_options.incarnation = 77;
        sender_options.replays = true;
        auto sender = delivery::Sender::open(sender_options).value();
        for (std::uint64_t id = 1; id <= 5; ++id)
            ASSERT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, tags}, event(id, 3000)).has_value());
        ASSERT_TRUE(flushed(*sender));
    }

    void expect_nothing_is_stored_again() {
        const auto recorder = start();
        send_all(*recorder);
        EXPECT_EQ(recorder->summary().copies_stored, 0U);
        EXPECT_EQ(recorder->summary().receiver.duplicates, 5U);
        ASSERT_TRUE(recorder->stop(60s).has_value());
    }
};

TEST_F(RecorderRestart, ARunThatACrashLeftOpenIsContinuedAndEveryCopyIsStoredOnce) {
    constexpr std::uint64_t events = 300;
    std::vector<std::vector<std::byte>> bytes;
    for (std::uint64_t id = 1; id <= events; ++id) bytes.push_back(event(id, 5000));
    options_.receiver.listen = port_.address();
    auto recorder = start();
    auto sender_options = sender_options_for(recorder->port());
    sender_options.backoff_first = 5ms;
    auto sender = delivery::Sender::open(sender_options).value();
    std::atomic<bool> crashed{false};
    std::jthread sending([&] {
        for (std::uint64_t id = 1; id <= events; ++id) {
            if (id == events / 2) crashed.wait(false);  // some are sent afterwards, on any machine
            const auto sent =
                sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main"), stream("express_express")}},
                             bytes[id - 1]);
            EXPECT_TRUE(sent.has_value());
            std::this_thread::sleep_for(500us);
        }
    });
    while (sender->stats().acknowledged < 40) std::this_thread::sleep_for(1ms);
    recorder.reset();  // no stop(): as after a crash
    crashed = true;
    crashed.notify_all();
    EXPECT_TRUE(data_files().empty());
    recorder = start();
    EXPECT_TRUE(recorder->continued());
    sending.join();
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    std::map<std::uint64_t, int> copies;
    for (const auto& path : data_files()) {
        auto reader = datafile::RawFileReader::open(path).value();
        std::vector<std::byte> stored;
        while (reader.next(stored).value())
            ++copies[number(event::EventView::parse(stored, event::Format::event_5_0)->ids().global_id)];
        EXPECT_TRUE(reader.end().has_value());
    }
    EXPECT_EQ(copies.size(), events);
    for (const auto& [id, n] : copies) EXPECT_EQ(n, 2) << id;
    expect_all_good(4);
    const auto rows = catalogue()->files().value();
    EXPECT_EQ(std::ranges::count(rows, catalogue::FileHealth::truncated, &catalogue::FileRow::file_health), 2);
}

TEST_F(RecorderRestart, WhatIsInFilesThatAreDeletedIsStillKnownAndNotStoredAgain) {
    options_.file_events_max = 2;
    {
        const auto recorder = start();
        send_all(*recorder);
        while (recorder->summary().files < 2) std::this_thread::sleep_for(1ms);
    }  // as after a crash
    hand_over_and_delete();
    expect_nothing_is_stored_again();
}

TEST_F(RecorderRestart, WhatIsInRecoveredFilesThatAreDeletedIsStillKnown) {
    send_all(*start(), {stream("physics_Main"), stream("express_express")});  // and a crash before any file was closed
    {
        const auto known = catalogue();
        ASSERT_EQ(recovery::recover_and_record(directory_, options_.recorder, *known, clock_).value().files.size(), 2U);
        ASSERT_TRUE(recovery::keep_marks(options_.directories, *known).has_value());
    }
    hand_over_and_delete();
    expect_nothing_is_stored_again();
}

TEST_F(RecorderRestart, ARecorderThatGoesOnWithAnotherRunKeepsWhatItRecoveredOfTheFirst) {
    send_all(*start());  // and a crash before any file was closed
    options_.run = RunNumber{18};
    ASSERT_TRUE(start()->stop(60s).has_value());
    hand_over_and_delete();
    options_.run = RunNumber{17};
    expect_nothing_is_stored_again();
}

TEST_F(RecorderRestart, AFileThatNeverHeldAnAcknowledgedEventIsGoneAfterACrash) {
    Faulty disk;
    std::atomic<bool> held{true};
    disk.hang(
        [](Call call, const std::string& path) {
            return call == Call::pwrite && path.ends_with(".writing") && !path.ends_with(".index.writing");
        },
        held);
    options_.direct = DirectIo::off;
    {
        auto recorder = Recorder::open(options_, {}, clock_, disk).value();
        recorder->start();
        auto sender = connect(*recorder);
        const bool sent =
            sender->send({GlobalEventId{1}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(1, 5000)).has_value();
        EXPECT_TRUE(sent);
        while (sent && recorder->summary().copies_received == 0) std::this_thread::sleep_for(1ms);
        // As after a crash at this moment: what the catalogue has, and nothing else.
        std::error_code error;
        std::filesystem::copy(directory_, directory_.native() + "-crash", error);
        EXPECT_FALSE(error) << error.message();
        held = false;
        held.notify_all();
    }
    std::filesystem::remove_all(directory_);
    std::filesystem::rename(directory_.native() + "-crash", directory_);
    auto recorder = Recorder::open(options_, {}, clock_).value();
    EXPECT_TRUE(recorder->continued());
    recorder->start();
    EXPECT_TRUE(recorder->stop(60s).has_value());  // refused while the catalogue waits for an open file
    EXPECT_TRUE(data_files().empty());
}

/// Recovery relies on the index where the journal is damaged: it names all that was acknowledged.
TEST_F(RecorderRestart, AnEventIsNotAcknowledgedWhileTheDiskHasNoRoomForItsEntryInTheIndex) {
    for (const int writes_before : {0, 1}) {  // of the index: its head, the first round
        options_.run = RunNumber{static_cast<std::uint32_t>(20 + writes_before)};
        Faulty disk;
        disk.fail(Call::pwrite, ".index.writing", ENOSPC, 1 + writes_before, 1'000'000);
        auto recorder = Recorder::open(options_, {}, clock_, disk).value();
        recorder->start();
        auto sender = connect(*recorder);
        ASSERT_TRUE(
            sender->send({GlobalEventId{1}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(1, 3000)).has_value());
        while (disk.fired() < 3 && sender->stats().acknowledged == 0) std::this_thread::sleep_for(1ms);
        EXPECT_EQ(sender->stats().acknowledged, 0U) << writes_before;
        disk.clear();
        ASSERT_TRUE(flushed(*sender));
        EXPECT_EQ(sender->stats().acknowledged, 1U);
        ASSERT_TRUE(recorder->stop(60s).has_value());
    }
}

TEST_F(RecorderRestart, AFileThatCouldNeitherBeginNorBeRemovedIsRemovedBeforeTheNextOneBegins) {
    class KeepsNames : public Faulty {
    public:
        std::atomic<int> kept{0};
        std::atomic<bool> keeps{true};
        int unlink(const char* path) override {
            if (!keeps) return Faulty::unlink(path);
            ++kept;
            return errno = EIO, -1;
        }
    } disk;
    disk.fail(Call::pwrite, ".index.writing", ENOSPC, 1, 1'000'000);
    auto recorder = Recorder::open(options_, {}, clock_, disk).value();
    recorder->start();
    auto sender = connect(*recorder);
    ASSERT_TRUE(
        sender->send({GlobalEventId{1}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(1, 3000)).has_value());
    while (disk.kept < 2) std::this_thread::sleep_for(1ms);
    disk.keeps = false;
    disk.clear();
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    EXPECT_EQ(data_files().front().stem(), "data_test.00000017.physics_Main.daq.RAW._lb0001._weir._0001");
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
        EXPECT_FALSE(entry.path().native().ends_with(".writing")) << entry.path();
}

TEST_F(RecorderRestart, FilesWhoseBeginningAPowerCutTookFromTheCatalogueAreRecoveredAllTheSame) {
    auto recorder = start();
    send_all(*recorder, {stream("physics_Main"), stream("express_express")});
    recorder.reset();
    {
        const auto catalogue = this->catalogue();
        const auto rows = catalogue->files({.file_state = catalogue::FileState::opened}).value();
        ASSERT_EQ(rows.size(), 2U);
        for (const auto& row : rows) ASSERT_TRUE(catalogue->remove_opened_file(row.guid).has_value());
    }
    recorder = start();
    EXPECT_TRUE(recorder->continued());
    send_all(*recorder, {stream("physics_Main"), stream("express_express")});
    EXPECT_EQ(recorder->summary().copies_stored, 0U);
    ASSERT_TRUE(recorder->stop(60s).has_value());
    expect_all_good(2);
    const auto rows = catalogue()->files().value();
    ASSERT_EQ(rows.size(), 2U);
    for (const auto& row : rows) {
        EXPECT_EQ(row.events, 5U);
        EXPECT_EQ(row.file_state, catalogue::FileState::closed);
        EXPECT_EQ(row.file_health, catalogue::FileHealth::truncated);
    }
}

TEST_F(RecorderRestart, WithoutANumberTheRunThatACrashLeftOpenIsContinuedAndOneThatWasClosedIsNot) {
    options_.run.reset();
    auto recorder = start();
    const auto run = recorder->run();
    recorder.reset();  // no stop(): as after a crash
    recorder = start();
    EXPECT_TRUE(recorder->continued());
    EXPECT_EQ(recorder->run(), run);
    ASSERT_TRUE(recorder->stop(60s).has_value());
    recorder.reset();
    recorder = start();
    EXPECT_FALSE(recorder->continued());
    EXPECT_EQ(number(recorder->run()), number(run) + 1);
    ASSERT_TRUE(recorder->stop(60s).has_value());
}

TEST_F(RecorderRestart, AClosedRunIsRefusedAndTheNextFreeNumberNamed) {
    ASSERT_TRUE(start()->stop(60s).has_value());
    const auto again = Recorder::open(options_, {}, clock_);
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().code, Errc::refused);
    EXPECT_NE(again.error().message().find("18"), std::string::npos) << again.error().message();
}

TEST_F(RecorderRestart, TwoRecordersCannotShareADirectory) {
    auto recorder = start();
    const auto second = Recorder::open(options_, {}, clock_);
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().message().find("in use by another recorder"), std::string::npos)
        << second.error().message();
    ASSERT_TRUE(recorder->stop(60s).has_value());
}

TEST_F(RecorderRestart, WhatCannotBeRecoveredIsLeftAsItIsAndTheRecorderDoesNotStart) {
    {
        auto recorder = start();
        auto sender = connect(*recorder);
        ASSERT_TRUE(
            sender->send({GlobalEventId{1}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(1, 3000)).has_value());
        ASSERT_TRUE(flushed(*sender));
    }  // as after a crash
    std::filesystem::path writing;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
        if (entry.path().native().ends_with("_0001.writing")) writing = entry.path();
    }
    ASSERT_FALSE(writing.empty());
    auto obstacle = writing;
    obstacle.replace_extension(".index.recovering");
    std::filesystem::create_directory(obstacle);  // the index cannot be written
    const auto refused = Recorder::open(options_, {}, clock_);
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(std::filesystem::exists(writing));
    std::filesystem::remove(obstacle);
    auto recorder = start();  // the obstacle is gone: nothing was lost
    EXPECT_TRUE(recorder->stop(60s).has_value());
    expect_all_good(1);
}

}  // namespace
}  // namespace weir::recorder
