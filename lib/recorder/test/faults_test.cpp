// SPDX-License-Identifier: Apache-2.0
// Disks that fail under a recording, one fault at a time. After each: every event that was sent is stored once in
// each of its streams, every closed file is good, the ledger balances, and the recorder has gone on by itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "disk/space_reserve.hpp"
#include "ruled_file_system.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class RecorderFaults : public testing::RecordingFixture {
protected:
    RecorderFaults() {
        options_.directories = {directory_ / "a"};
        options_.direct = DirectIo::off;
        options_.memory = 16_MiB;
        options_.receiver.event_size_max = 1_MiB;
        options_.streams_max = 8;
        options_.disk_reserve = 64_KiB;
        options_.disk_headroom = 64_KiB;
        options_.disk_retry = 5ms;
        std::filesystem::create_directory(directory_ / "a");
    }

    void begin(std::size_t volumes = 1) {
        if (volumes == 2) options_.directories = {directory_ / "a", directory_ / "b"};
        const auto lent = port_.lend();
        recorder_ = Recorder::open(
                        options_,
                        [this](const Report& report) {
                            const std::scoped_lock lock(mutex_);
                            if (!report.alarm.empty()) alarms_.insert(report.alarm + ": " + report.why);
                        },
                        clock_, disk_)
                        .value();
        recorder_->start();
        auto sender_options = sender_options_for(recorder_->port());
        sender_options.backoff_first = 1ms;
        sender_options.backoff_last = 10ms;
        sender_ = delivery::Sender::open(sender_options).value();
    }
    void send(std::uint64_t count) {
        for (; count > 0; --count) {
            const auto id = ++sent_;
            ASSERT_TRUE(
                sender_->send({GlobalEventId{id}, {}, LumiBlock{1}, tags_of(id)}, event(id, 2000 + id % 7 * 3000))
                    .has_value());
        }
    }
    /// Ten events are acknowledged and ten are not: the disk of the only volume has become read-only.
    void record_until_no_volume_is_left() {
        begin();
        send(10);
        ASSERT_TRUE(flushed(*sender_));
        disk_.set([](Call call, const std::string&) { return call != Call::close ? EROFS : 0; });
        send(10);
        ASSERT_TRUE(eventually([&] { return recorder_->failure().has_value(); })) << all_alarms();
    }
    /// The one that has the first file of physics_Main: whichever had more space.
    std::filesystem::path volume_of_main() const {
        return *std::ranges::find_if(options_.directories, [](const std::filesystem::path& directory) {
            return std::filesystem::exists(directory /
                                           "data_test.00000017.physics_Main.daq.RAW._lb0001._weir._0001.writing");
        });
    }
    bool has_alarm(const std::string& part) {
        const std::scoped_lock lock(mutex_);
        return std::ranges::any_of(alarms_, [&](const auto& alarm) { return alarm.find(part) != std::string::npos; });
    }
    std::string all_alarms() {
        const std::scoped_lock lock(mutex_);
        std::string text;
        for (const auto& alarm : alarms_) text += alarm + "\n";
        return text;
    }
    static bool eventually(const std::function<bool()>& condition) {
        const auto until = std::chrono::steady_clock::now() + 60s;
        while (!condition()) {
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::sleep_for(1ms);
        }
        return true;
    }

    /// What holds after every fault.
    void expect_nothing_lost() {
        ASSERT_TRUE(flushed(*sender_)) << all_alarms();
        const auto stopped = recorder_->stop(60s);
        ASSERT_TRUE(stopped.has_value()) << stopped.error().message() << "\n" << all_alarms();
        const auto summary = recorder_->summary();
        EXPECT_EQ(summary.copies_in_hand, 0U);
        std::uint64_t rejected = 0;
        for (const auto& [reason, count] : summary.copies_rejected) rejected += count;
        EXPECT_EQ(summary.copies_received, summary.copies_stored + rejected);
        EXPECT_EQ(summary.receiver.in_hand, 0U);
        recorder_.reset();

        expect_stored_once(sent_, all_alarms());
        std::uint64_t ledger_received = 0, ledger_accounted = 0;
        const auto ledgers = catalogue()->ledgers(*options_.run).value();
        for (const auto& row : ledgers) {
            ledger_received += row.received;
            ledger_accounted += row.stored;
            for (const auto& [reason, count] : row.rejected) ledger_accounted += count;
        }
        EXPECT_EQ(ledger_received, ledger_accounted);
        EXPECT_EQ(ledger_received, summary.copies_received);
        for (const auto& directory : options_.directories) {
            for (const auto& entry : std::filesystem::directory_iterator(directory)) {
                const auto name = entry.path().filename().native();
                EXPECT_FALSE(name.ends_with(".writing") || name.starts_with("weir.journal") || name == "weir.reserve")
                    << entry.path();
            }
        }
    }
    std::set<catalogue::FileHealth> healths() const {
        std::set<catalogue::FileHealth> found;
        const auto rows = catalogue()->files().value();
        for (const auto& row : rows) found.insert(row.file_health);
        return found;
    }

    Faulty disk_;
    std::unique_ptr<Recorder> recorder_;
    std::unique_ptr<delivery::Sender> sender_;
    std::uint64_t sent_ = 0;
    std::mutex mutex_;
    std::set<std::string> alarms_;
};

TEST_F(RecorderFaults, AReserveThatAFailedFileNeededIsMadeAgainThoughTheDiskNeverPaused) {
    begin();
    send(20);
    ASSERT_TRUE(flushed(*sender_));
    disk_.set([failed = std::string(), end = 0](Call call, const std::string& path) mutable {
        if (call != Call::pwrite) return 0;
        if (failed.empty() && path.ends_with("0001.writing")) {
            failed = path.substr(0, path.rfind(".writing"));
            return EIO;
        }
        // To close it up takes the reserve. The index of another file would be written in the same round.
        if (!failed.empty() && path.starts_with(failed + ".index.") && end++ == 0) return ENOSPC;
        return 0;
    });
    send(1);
    ASSERT_TRUE(eventually([&] { return recorder_->summary().files == 1; })) << all_alarms();
    EXPECT_EQ(disk_.fired(), 2);
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(directory_ / "a" / SpaceReserve::file_name); }));
    disk_.clear();
    expect_nothing_lost();
}

TEST_F(RecorderFaults, AFailedSyncIsFinalForItsFileOnly) {
    begin();
    send(20);
    ASSERT_TRUE(flushed(*sender_));
    disk_.fail(Call::fdatasync, "Main", EIO);
    send(20);
    expect_nothing_lost();
    EXPECT_EQ(disk_.fired(), 1);
    EXPECT_TRUE(has_alarm("file quarantined: data_test.00000017.physics_Main")) << all_alarms();
    EXPECT_TRUE(has_alarm("global ids")) << all_alarms();
    EXPECT_TRUE(healths().contains(catalogue::FileHealth::quarantined));
}

TEST_F(RecorderFaults, AFileThatFailsBeforeItHeldAnythingIsGoneAndItsSpaceIsFreeBeforeItsDescriptorIsClosed) {
    begin();
    std::vector<Call> calls;  // of the file, behind the one that fails; Faulty calls one at a time
    disk_.set([&, failed = false](Call call, const std::string& path) mutable {
        if (!path.ends_with("physics_Main.daq.RAW._lb0001._weir._0001.writing")) return 0;
        // Writes before it is cut: segments that became full while events came.
        if (failed && (call != Call::pwrite || !calls.empty())) calls.push_back(call);
        return call == Call::fdatasync && !std::exchange(failed, true) ? EIO : 0;
    });
    send(20);
    expect_nothing_lost();
    EXPECT_EQ(calls, (std::vector{Call::ftruncate, Call::close})) << all_alarms();
    EXPECT_EQ(disk_.fired(), 1);
    EXPECT_EQ(healths(), std::set{catalogue::FileHealth::sane});
}

TEST_F(RecorderFaults, AVolumeThatFailsAgainAndAgainIsOutOfUseAndComesBackWhenItCanBeWritten) {
    begin(2);
    send(20);
    ASSERT_TRUE(flushed(*sender_));
    disk_.set([](Call call, const std::string& path) {
        return call != Call::close && path.find("/a/") != std::string::npos ? EIO : 0;
    });
    for (int i = 0; i < 20; ++i) {
        send(5);
        ASSERT_TRUE(flushed(*sender_)) << all_alarms();
    }
    // The alarm stays; the state does not, because the volume is tried again soon.
    ASSERT_TRUE(eventually([&] {
        send(3);
        return flushed(*sender_) && has_alarm("volume dropped: " + (directory_ / "a").native());
    })) << all_alarms();
    EXPECT_FALSE(recorder_->summary().paused);
    EXPECT_FALSE(recorder_->failure().has_value());
    disk_.clear();
    ASSERT_TRUE(eventually([&] { return recorder_->summary().volumes.front().state == VolumeState::good; }))
        << all_alarms();
    send(10);
    expect_nothing_lost();
}

TEST_F(RecorderFaults, WhenNoVolumeIsLeftTheSendersWaitUntilOneComesBack) {
    ASSERT_NO_FATAL_FAILURE(record_until_no_volume_is_left());
    EXPECT_TRUE(recorder_->summary().paused);
    EXPECT_FALSE(sender_->flush(50ms).value());
    disk_.clear();
    ASSERT_TRUE(flushed(*sender_)) << all_alarms();
    EXPECT_FALSE(recorder_->failure().has_value());
    expect_nothing_lost();
}

TEST_F(RecorderFaults, TheLumiBlocksOfAVolumeThatCameBackAreClosedWhileTheRunGoesOn) {
    options_.lumi_block_grace = 100ms;
    ASSERT_NO_FATAL_FAILURE(record_until_no_volume_is_left());
    disk_.clear();
    ASSERT_TRUE(flushed(*sender_)) << all_alarms();
    ASSERT_TRUE(sender_->send({GlobalEventId{1000}, {}, LumiBlock{2}, {stream("physics_Main")}}, event(1000, 2000))
                    .has_value());
    const auto known = catalogue();
    EXPECT_TRUE(eventually([&] {
        const auto rows = known->lumi_blocks(*options_.run).value();
        return std::ranges::count_if(rows, [](const auto& row) {
                   return row.lumi_block == LumiBlock{1} && row.state == catalogue::OpenState::closed;
               }) == 2;
    })) << all_alarms();
    expect_nothing_lost();
}

TEST_F(RecorderFaults, AStopEndsWhileNoVolumeIsLeftAndTheNextStartHasEverything) {
    options_.receiver.listen = port_.address();
    begin();
    send(10);
    ASSERT_TRUE(flushed(*sender_));
    disk_.set([](Call call, const std::string&) { return call != Call::close ? EIO : 0; });
    send(10);
    ASSERT_TRUE(eventually([&] { return recorder_->failure().has_value(); })) << all_alarms();
    const auto stopped = recorder_->stop(50ms);
    ASSERT_FALSE(stopped.has_value()) << "no file of it could be closed";
    EXPECT_NE(stopped.error().message().find("stays open"), std::string::npos) << stopped.error().message();
    recorder_.reset();
    disk_.clear();
    const auto lent = port_.lend();
    recorder_ = Recorder::open(options_, {}, clock_, disk_).value();
    recorder_->start();
    ASSERT_TRUE(flushed(*sender_));
    ASSERT_TRUE(recorder_->stop(60s).has_value());
    auto copies = stored();
    for (std::uint64_t id = 1; id <= sent_; ++id) EXPECT_EQ(copies["physics"][id], 1) << id;
}

TEST_F(RecorderFaults, ADiskThatGetsFullPausesWithEveryFileClosedAndGoesOnByItself) {
    begin();
    send(10);
    ASSERT_TRUE(flushed(*sender_));
    EXPECT_TRUE(std::filesystem::exists(directory_ / "a" / "weir.reserve"));
    disk_.free_blocks = 10;  // below the headroom
    ASSERT_TRUE(eventually([&] { return recorder_->summary().paused; }));
    EXPECT_TRUE(eventually([&] { return has_alarm("disk full: "); })) << all_alarms();
    ASSERT_TRUE(eventually([&] { return recorder_->summary().files == 2; }));
    EXPECT_FALSE(recorder_->failure().has_value());
    send(10);
    EXPECT_FALSE(sender_->flush(50ms).value());
    EXPECT_EQ(sender_->stats().acknowledged, 10U);
    disk_.free_blocks = -1;
    ASSERT_TRUE(flushed(*sender_));
    EXPECT_FALSE(recorder_->summary().paused);
    expect_nothing_lost();
    EXPECT_EQ(healths(), std::set{catalogue::FileHealth::sane});
}

TEST_F(RecorderFaults, ADiskThatIsFullForEveryWriteKeepsWhatIsAcknowledgedAndGoesOnWithSpace) {
    begin();
    send(10);
    ASSERT_TRUE(flushed(*sender_));
    // As long as the reserve is held nothing more can be written; then what is needed to close.
    const auto reserve = directory_ / "a" / "weir.reserve";
    std::atomic<bool> full = true;
    disk_.set([&](Call call, const std::string& path) {
        std::error_code error;
        if (!full) return 0;
        if (call == Call::fallocate) return ENOSPC;
        const bool data = path.ends_with("._0001.writing") || path.ends_with("._0002.writing");
        return call == Call::pwrite && (data || std::filesystem::exists(reserve, error)) ? ENOSPC : 0;
    });
    send(30);
    ASSERT_TRUE(eventually([&] { return recorder_->summary().paused; })) << all_alarms();
    EXPECT_TRUE(eventually([&] { return has_alarm("disk full: "); })) << all_alarms();
    full = false;
    ASSERT_TRUE(flushed(*sender_)) << all_alarms();
    expect_nothing_lost();
}

TEST_F(RecorderFaults, WhileOneVolumeIsFullTheOtherTakesEverything) {
    begin(2);
    send(10);
    ASSERT_TRUE(flushed(*sender_));
    disk_.fail(Call::pwrite, (volume_of_main() / "data_test").native(), ENOSPC, 1, 1);
    send(40);
    expect_nothing_lost();
    EXPECT_EQ(disk_.fired(), 1);
}

TEST_F(RecorderFaults, ADiskThatNeverAnswersIsAbandonedAndTheOtherGoesOn) {
    options_.disk_silence_max = 5s;  // longer than a machine that is busy keeps the good disk waiting
    options_.receiver.threads = 1;
    begin(2);
    send(10);
    ASSERT_TRUE(flushed(*sender_));
    const auto acknowledged_before = sent_;
    static std::atomic<bool> for_ever{true};  // outlives the threads that are left behind in it
    const auto hangs = volume_of_main();
    disk_.hang([part = (hangs / "data_test").native()](
                   Call call, const std::string& path) { return call == Call::fdatasync && path.starts_with(part); },
               for_ever);
    for (int i = 0; i < 5; ++i) {
        send(10);
        ASSERT_TRUE(flushed(*sender_)) << all_alarms();
    }
    for (const auto& volume : recorder_->summary().volumes)
        EXPECT_EQ(volume.state, volume.directory == hangs.native() ? VolumeState::failed : VolumeState::good)
            << volume.directory;
    EXPECT_TRUE(eventually([&] { return has_alarm("has not answered for"); })) << all_alarms();  // it follows
    const auto stopped = recorder_->stop(2s);
    const auto summary = recorder_->summary();
    EXPECT_EQ(summary.copies_in_hand, 0U);
    recorder_.reset();
    auto copies = stored()["physics"];
    const auto rows = catalogue()->files({.file_state = catalogue::FileState::opened}).value();
    std::uint64_t left = 0;  // events of one stream in files that are still open
    for (const auto& row : rows) {
        EXPECT_EQ(row.file_health, catalogue::FileHealth::quarantined);
        left += row.stream_type == "physics" ? row.events : 0;
    }
    std::uint64_t there = left;
    for (std::uint64_t id = 1; id <= sent_; ++id) {
        EXPECT_LE(copies[id], 1) << id;
        EXPECT_TRUE(copies[id] == 1 || id <= acknowledged_before) << id;
        there += static_cast<std::uint64_t>(copies[id]);
    }
    EXPECT_EQ(there, sent_);
    EXPECT_FALSE(rows.empty()) << all_alarms();
    EXPECT_FALSE(stopped.has_value()) << all_alarms();
}

TEST_F(RecorderFaults, AStopEndsAlthoughTheDiskHangsInTheRecoveryOfItsVolume) {
    options_.disk_silence_max = 5s;
    ASSERT_NO_FATAL_FAILURE(record_until_no_volume_is_left());
    static std::atomic<bool> for_ever{true}, hung{false};  // outlive the thread that is left behind
    disk_.hang(
        [](Call call, const std::string&) {
            if (call == Call::rename_new) hung = true;
            return call == Call::rename_new;
        },
        for_ever);
    ASSERT_TRUE(eventually([] { return hung.load(); })) << all_alarms();
    EXPECT_GT(disk_.fired(), 0);  // and its thread does not use disk_ any more
    std::atomic<bool> stopped{false};
    std::jthread stopping([&] {
        EXPECT_FALSE(recorder_->stop(50ms).has_value());
        stopped = true;
    });
    EXPECT_TRUE(eventually([&] { return stopped.load(); })) << all_alarms();
    if (!stopped) {
        for_ever = false;
        for_ever.notify_all();
    }
    stopping.join();
    recorder_.reset();
    auto copies = stored();
    EXPECT_LE(copies["physics"].size(), sent_);
}

struct OneFault {
    const char* name;
    Call call;
    const char* path;
    int error;
    int nth = 1;
    int count = 1;
};

class RecorderFault : public RecorderFaults, public ::testing::WithParamInterface<OneFault> {};

TEST_P(RecorderFault, LosesNothingAndRecordingGoesOnByItself) {
    const auto& fault = GetParam();
    options_.file_events_max = 25;
    begin();
    send(10);
    ASSERT_TRUE(flushed(*sender_));
    disk_.fail(fault.call, fault.path, fault.error, fault.nth, fault.count);
    send(60);
    ASSERT_TRUE(flushed(*sender_)) << all_alarms();
    send(5);
    expect_nothing_lost();
    EXPECT_GE(disk_.fired(), 1);
    EXPECT_LE(disk_.fired(), fault.count);
}

TEST_P(RecorderFault, WithASecondVolumeToo) {
    const auto& fault = GetParam();
    options_.file_events_max = 25;
    begin(2);
    send(10);
    ASSERT_TRUE(flushed(*sender_));
    disk_.fail(fault.call, fault.path, fault.error, fault.nth, fault.count);
    send(60);
    expect_nothing_lost();
    EXPECT_LE(disk_.fired(), fault.count);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, RecorderFault,
    ::testing::Values(
        OneFault{"FirstWrite", Call::pwrite, "Main", EIO}, OneFault{"SecondWrite", Call::pwrite, "Main", EIO, 2},
        OneFault{"ThirdWriteOfAny", Call::pwrite, ".writing", EIO, 3},
        OneFault{"FewWrites", Call::pwrite, "Main", EIO, 1, 2},
        OneFault{"ManyWrites", Call::pwrite, ".writing", EIO, 1, 7},
        OneFault{"SyncOfData", Call::fdatasync, ".writing", EIO},
        OneFault{"LaterSyncOfData", Call::fdatasync, "Main", EIO, 3},
        OneFault{"ManySyncs", Call::fdatasync, "weir-recorder", EIO, 1, 6},
        OneFault{"CloseOfData", Call::close, "Main.daq.RAW._lb0001._weir._0001.writing", EIO},
        OneFault{"CloseOfIndex", Call::close, "index.writing", EDQUOT},
        OneFault{"Index", Call::pwrite, "index.writing", EIO},
        OneFault{"IndexSync", Call::fdatasync, "index.writing", EIO},
        OneFault{"JournalWrite", Call::pwrite, "weir.journal", EIO},
        OneFault{"JournalSync", Call::fdatasync, "weir.journal", EIO},
        OneFault{"JournalSyncThreeTimes", Call::fdatasync, "weir.journal", EIO, 1, 3},
        OneFault{"JournalFull", Call::pwrite, "weir.journal", ENOSPC, 1, 2},
        OneFault{"Rename", Call::rename_new, "Main", EIO}, OneFault{"RenameOfIndex", Call::rename_new, "index", EIO},
        OneFault{"Directory", Call::fsync, "weir-recorder", EIO}, OneFault{"Truncate", Call::ftruncate, "Main", EIO},
        OneFault{"Create", Call::open, "Main", EIO, 2}, OneFault{"CreateReadOnly", Call::open, "Main", EROFS, 2, 3},
        OneFault{"Descriptors", Call::open, "writing", EMFILE, 1, 5},
        OneFault{"DescriptorsEverywhere", Call::open, "weir-recorder", EMFILE, 1, 20},
        OneFault{"NoDevice", Call::fdatasync, "writing", ENODEV},
        OneFault{"FullAtAWrite", Call::pwrite, "Main", ENOSPC},
        OneFault{"FullAtTheIndex", Call::pwrite, "index", ENOSPC, 1, 2},
        OneFault{"FullAtASync", Call::fdatasync, "Main", ENOSPC},
        OneFault{"Quota", Call::pwrite, "writing", EDQUOT, 2, 4},
        OneFault{"FileTooBig", Call::pwrite, "express", EFBIG}),
    [](const auto& fault) { return std::string(fault.param.name); });

}  // namespace
}  // namespace weir::recorder
