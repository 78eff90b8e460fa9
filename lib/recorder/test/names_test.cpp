// SPDX-License-Identifier: Apache-2.0
// Others remove, rename or replace what a recorder writes, while it does. What the whole program makes of it:
// test/disks/recorder_interference_test.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <mutex>
#include <thread>

#include "weir/datafile/volume_marker.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recorder {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class RecorderNames : public testing::RecordingFixture {
protected:
    RecorderNames() {
        options_.directories = {directory_ / "a"};
        options_.disk_retry = 5ms;
    }
    void begin() {
        recorder_ = Recorder::open(
                        options_,
                        [this](const Report& report) {
                            const std::scoped_lock lock(mutex_);
                            if (!report.alarm.empty()) alarms_ += report.alarm + ": " + report.why + "\n";
                        },
                        clock_)
                        .value();
        recorder_->start();
        sender_ = connect(*recorder_);
    }
    void send(std::uint64_t count) {
        for (; count > 0; --count) {
            const auto id = ++sent_;
            ASSERT_TRUE(sender_->send({GlobalEventId{id}, {}, LumiBlock{1}, tags_of(id)}, event(id, 2000)).has_value());
        }
        ASSERT_TRUE(flushed(*sender_)) << alarms();
    }
    std::string alarms() {
        const std::scoped_lock lock(mutex_);
        return alarms_;
    }
    bool alarmed(const std::string& part) {
        const auto until = std::chrono::steady_clock::now() + 60s;
        while (!alarms().contains(part)) {
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::sleep_for(1ms);
        }
        return true;
    }
    std::vector<fs::path> all_ending(const std::string& ending) const {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator(options_.directories.front())) {
            if (entry.path().native().ends_with(ending)) found.push_back(entry.path());
        }
        return found;
    }
    void remove_all_ending(const std::string& ending) const {
        for (const auto& path : all_ending(ending)) fs::remove(path);
    }
    /// Stopped with an error that counts it, and each event is in each of its streams, once.
    void expect_nothing_lost() {
        const auto stopped = recorder_->stop(60s);
        ASSERT_FALSE(stopped.has_value());
        EXPECT_TRUE(stopped.error().message().contains("interfered")) << stopped.error().message() << "\n" << alarms();
        recorder_.reset();
        const auto rows = catalogue()->files().value();
        for (const auto& row : rows) EXPECT_NE(row.file_health, catalogue::FileHealth::quarantined) << row.name;
        expect_stored_once(sent_, alarms());
        EXPECT_TRUE(all_ending(".writing").empty());
    }

    std::unique_ptr<Recorder> recorder_;
    std::unique_ptr<delivery::Sender> sender_;
    std::uint64_t sent_ = 0;
    std::mutex mutex_;
    std::string alarms_;
};

TEST_F(RecorderNames, AFileThatIsRemovedIsSavedWithBothWaysOfWriting) {
    for (const auto direct : {DirectIo::off, DirectIo::automatic}) {
        SCOPED_TRACE(static_cast<int>(direct));
        options_.direct = direct;
        sent_ = 0;
        begin();
        send(20);
        remove_all_ending("0001.writing");
        EXPECT_TRUE(alarmed("file removed: ")) << alarms();
        send(20);
        expect_nothing_lost();
        fs::remove_all(options_.directories.front());
    }
}

TEST_F(RecorderNames, AnotherFileUnderTheNameOfAnOpenOneIsKeptBesideIt) {
    begin();
    send(20);
    for (const auto& path : all_ending("0001.writing")) {
        fs::rename(path, path.native() + ".mine");
        std::ofstream(path) << "foreign";
    }
    EXPECT_TRUE(alarmed("file removed: ")) << alarms();
    send(20);
    expect_nothing_lost();
    EXPECT_EQ(all_ending(".writing.foreign-1").size(), 2U);
}

TEST_F(RecorderNames, AllThatIsRemovedJustBeforeTheStopIsThereAfterwards) {
    begin();
    send(20);
    for (const auto* ending : {".writing", "000001", "weir.lock", "weir.catalogue", "-wal", "-shm"})
        remove_all_ending(ending);
    expect_nothing_lost();
}

TEST_F(RecorderNames, FinalNamesThatAreTakenAreCleared) {
    begin();
    send(20);
    for (const auto& path : all_ending("0001.writing")) {
        for (const auto* ending : {".data", ".index"})
            std::ofstream(fs::path(path).replace_extension(ending)) << "foreign";
    }
    expect_nothing_lost();
    EXPECT_EQ(all_ending(".foreign-1").size(), 4U);
}

TEST_F(RecorderNames, ADirectoryThatIsAwayTakesNoEventsAndIsUsedAgainWhenItIsBack) {
    begin();
    send(20);
    const auto away = directory_ / "away";
    fs::rename(options_.directories.front(), away);
    EXPECT_TRUE(alarmed("directory gone: ")) << alarms();
    EXPECT_TRUE(recorder_->failure().has_value());
    EXPECT_FALSE(fs::exists(options_.directories.front()));
    fs::create_directory(options_.directories.front());  // as under a disk that was unmounted: not the same
    std::this_thread::yield();
    fs::remove(options_.directories.front());
    fs::rename(away, options_.directories.front());
    send(20);
    EXPECT_FALSE(alarms().contains("disk full")) << alarms();
    expect_nothing_lost();
}

TEST_F(RecorderNames, ADirectoryIsTakenIntoUseOnce) {
    options_.create_directories = false;
    EXPECT_EQ(Recorder::open(options_, {}, clock_).error().os_errno, ENOENT);
    fs::create_directory(options_.directories.front());
    EXPECT_EQ(Recorder::open(options_, {}, clock_).error().code, Errc::refused);
    EXPECT_TRUE(fs::is_empty(options_.directories.front()));
    std::ofstream(options_.directories.front() / datafile::volume_marker_name).close();
    ASSERT_TRUE(Recorder::open(options_, {}, clock_).has_value());
    const auto id = datafile::read_volume_marker(options_.directories.front());
    ASSERT_TRUE(id.has_value());
    ASSERT_TRUE(Recorder::open(options_, {}, clock_).has_value());
    EXPECT_EQ(datafile::read_volume_marker(options_.directories.front()), id);
}

}  // namespace
}  // namespace weir::recorder
