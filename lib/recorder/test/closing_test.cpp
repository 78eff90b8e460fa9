// SPDX-License-Identifier: Apache-2.0
// Files that wait to be closed: however many they are and however small the memory is, they are closed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "ruled_file_system.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class RecorderClosing : public testing::RecordingFixture {
protected:
    RecorderClosing() {
        options_.memory = 1_MiB;  // half of it for blocks: eight
        options_.receiver.event_size_max = 64_KiB;
        options_.streams_max = 1;
        options_.file_events_max = 1;
    }

    void begin() {
        recorder_ = Recorder::open(
                        options_,
                        [this](const Report& report) {
                            const std::scoped_lock lock(mutex_);
                            if (!report.alarm.empty()) alarms_.push_back(report.alarm);
                        },
                        clock_, disk_)
                        .value();
        recorder_->start();
        sender_ = connect(*recorder_);
    }

    /// No file is given its final name, so none can be closed, until `for_ever` is false.
    void hold_closing(const std::atomic<bool>& for_ever) {
        const auto file_of_events = [](const std::string& path) {
            return path.ends_with(".writing") && !path.ends_with(".index.writing");
        };
        disk_.hang([=](Call call, const std::string& path) { return call == Call::rename_new && file_of_events(path); },
                   for_ever);
    }
    static void release(std::atomic<bool>& for_ever) {
        for_ever = false;
        for_ever.notify_all();
    }

    void send(std::uint64_t count, std::size_t size = 2000) {
        for (; count > 0; --count) {
            const auto id = ++sent_;
            ASSERT_TRUE(
                sender_->send({GlobalEventId{id}, Level1Id{7}, LumiBlock{1}, {stream("physics_Main")}}, event(id, size))
                    .has_value());
        }
    }

    template <class Condition>
    static bool eventually(const Condition& condition) {
        for (int i = 0; i < 60'000; ++i) {
            if (condition()) return true;
            std::this_thread::sleep_for(1ms);
        }
        return false;
    }

    Faulty disk_;
    std::mutex mutex_;
    std::vector<std::string> alarms_;
    std::uint64_t sent_ = 0;
    std::unique_ptr<Recorder> recorder_;
    std::unique_ptr<delivery::Sender> sender_;
};

TEST_F(RecorderClosing, ManyMoreFilesThanBlocksWaitAndAllAreClosed) {
    static std::atomic<bool> held{true};
    hold_closing(held);
    begin();
    send(100);
    ASSERT_TRUE(flushed(*sender_));  // each in a file of its own; those that wait have given their blocks back
    release(held);
    const auto stopped = recorder_->stop(60s);
    ASSERT_TRUE(stopped.has_value()) << stopped.error().message();
    expect_all_good(100);
}

TEST_F(RecorderClosing, WhenTooManyFilesWaitNoNewOnesAreBegunAndSendersGoOnByThemselves) {
    static std::atomic<bool> held{true};
    options_.files_closing_max = 4;
    hold_closing(held);
    begin();
    send(20);
    ASSERT_TRUE(eventually([&] { return recorder_->summary().waits_for_closing; }));
    EXPECT_FALSE(sender_->flush(50ms).value());
    EXPECT_LE(recorder_->summary().files_waiting, 4U);
    release(held);
    ASSERT_TRUE(flushed(*sender_));
    const auto stopped = recorder_->stop(60s);
    ASSERT_TRUE(stopped.has_value()) << stopped.error().message();
    EXPECT_EQ(recorder_->summary().files_waiting, 0U);
    expect_all_good(20);
}

TEST_F(RecorderClosing, ADiskThatCannotCloseItsFilesHoldsUpNoOther) {
    static std::atomic<bool> held{true};
    options_.files_closing_max = 1;
    options_.directories = {directory_ / "a", directory_ / "b"};
    disk_.hang(
        [](Call call, const std::string& path) {
            return call == Call::rename_new && path.contains("/a/") && path.ends_with(".writing") &&
                   !path.ends_with(".index.writing");
        },
        held);
    begin();
    send(40);
    ASSERT_TRUE(flushed(*sender_));
    EXPECT_FALSE(recorder_->summary().waits_for_closing);
    EXPECT_GT(recorder_->summary().files_waiting, 0U);
    release(held);
    const auto stopped = recorder_->stop(60s);
    ASSERT_TRUE(stopped.has_value()) << stopped.error().message();
    const auto rows = catalogue::open_sqlite_catalogue(catalogue::catalogue_path(options_.directories.front()))
                          .value()
                          ->files()
                          .value();
    EXPECT_EQ(
        std::ranges::count_if(rows, [](const auto& row) { return row.file_state == catalogue::FileState::closed; }),
        40);
    EXPECT_TRUE(std::ranges::any_of(rows, [](const auto& row) { return row.volume.ends_with("/a"); }));
}

TEST_F(RecorderClosing, OfFilesThatAreHeldUpTheSyncsAreAliveAndTheClosingIsNot) {
    static std::atomic<bool> held{true};
    hold_closing(held);
    begin();
    send(3);
    ASSERT_TRUE(flushed(*sender_));
    const auto duty = [&](std::string_view name) {
        const auto duties = recorder_->summary().duties;
        return *std::ranges::find_if(duties, [&](const DutyProgress& one) { return one.name == name; });
    };
    ASSERT_TRUE(eventually([&] { return disk_.fired() > 0; }));  // from here on nothing is closed
    EXPECT_TRUE(duty("closing").has_work);
    const auto closing = duty("closing").done;
    const auto syncing = duty("syncing").done;
    send(3);
    ASSERT_TRUE(flushed(*sender_));
    EXPECT_GT(duty("syncing").done, syncing);
    EXPECT_EQ(duty("closing").done, closing);
    release(held);
    ASSERT_TRUE(eventually([&] { return duty("closing").done > closing; }));
    ASSERT_TRUE(recorder_->stop(60s).has_value());
    EXPECT_FALSE(duty("closing").has_work);
}

TEST_F(RecorderClosing, WhatAStopCannotCloseInItsTimeIsLeftOpenAndClosedByTheNextStart) {
    constexpr std::uint32_t files = 200;  // more than are closed together
    options_.memory = 4_MiB;
    options_.lumi_blocks_open_max = files;
    options_.file_events_max = 0;
    begin();
    for (std::uint32_t id = 1; id <= files; ++id)
        ASSERT_TRUE(
            sender_->send({GlobalEventId{id}, Level1Id{7}, LumiBlock{id}, {stream("physics_Main")}}, event(id, 3000))
                .has_value());
    ASSERT_TRUE(flushed(*sender_));
    disk_.set([](Call call, const std::string& path) {  // the first group takes longer than a stop has at least
        if (call == Call::rename_new && path.ends_with(".index.writing")) std::this_thread::sleep_for(50ms);
        return 0;
    });
    const auto stopped = recorder_->stop(0ms);
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(stopped.error().message().contains("files are left open for recovery")) << stopped.error().message();
    EXPECT_EQ(recorder_->summary().copies_stored, files);
    recorder_.reset();
    sender_.reset();
    disk_.clear();
    begin();
    ASSERT_TRUE(recorder_->stop(60s).has_value());
    expect_all_good(files);
}

TEST_F(RecorderClosing, MoreOpenFilesThanBlocksGoOn) {
    options_.memory = 4_MiB;  // 32 blocks
    options_.streams_max = 10;
    options_.lumi_blocks_open_max = 10;
    options_.file_events_max = 0;
    begin();
    for (std::uint32_t round = 0; round < 3; ++round) {
        for (std::uint32_t n = 0; n < 100; ++n) {
            const auto id = ++sent_;
            ASSERT_TRUE(sender_
                            ->send({GlobalEventId{id},
                                    Level1Id{7},
                                    LumiBlock{1 + n / 10},
                                    {stream(("physics_S" + std::to_string(n % 10)).c_str())}},
                                   event(id, 3000))
                            .has_value());
        }
    }
    ASSERT_TRUE(flushed(*sender_));
    const auto stopped = recorder_->stop(60s);
    ASSERT_TRUE(stopped.has_value()) << stopped.error().message();
    expect_all_good(100);
}

TEST_F(RecorderClosing, FilesAreSpreadOverEqualDisks) {
    options_.memory = 4_MiB;
    options_.streams_max = 9;
    options_.file_events_max = 0;
    options_.directories = {directory_ / "a", directory_ / "b", directory_ / "c"};
    begin();
    for (std::uint64_t id = 1; id <= 9; ++id)
        ASSERT_TRUE(sender_
                        ->send({GlobalEventId{id},
                                Level1Id{7},
                                LumiBlock{1},
                                {stream(("physics_S" + std::to_string(id)).c_str())}},
                               event(id, 3000))
                        .has_value());
    ASSERT_TRUE(flushed(*sender_));
    for (const auto& directory : options_.directories) {
        const auto open = std::ranges::count_if(std::filesystem::directory_iterator(directory), [](const auto& entry) {
            return entry.path().extension() == ".writing" && entry.path().stem().extension() != ".index";
        });
        EXPECT_GE(open, 1) << directory;
        EXPECT_LE(open, 6) << directory;
    }
    ASSERT_TRUE(recorder_->stop(60s).has_value());
}

}  // namespace
}  // namespace weir::recorder
