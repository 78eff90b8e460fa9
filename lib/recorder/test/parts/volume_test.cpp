// SPDX-License-Identifier: Apache-2.0
// A volume alone, without its thread, so that a round comes when the test calls for it: what happens while it is in the
// middle of a call.
#include "volume/volume.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "answers.hpp"
#include "disk/space_reserve.hpp"
#include "ruled_file_system.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class VolumeTest : public testing::RecordingFixture {
protected:
    VolumeTest() {
        settlement_.declare(delivery::SessionId{0}, {"test", 1, 0, RunNumber{17}});
        Volume::Callbacks callbacks;
        callbacks.changed = [] {};
        callbacks.recover = [this](auto&) -> Result<> {
            ++recoveries_;
            if (!recovery_works_) return fail(Errc::io, "it cannot be read");
            return {};
        };
        volume_ = Volume::open({.directory = directory_,
                                .direct = DirectIo::off,
                                .sync_interval = 1h,
                                .reserve = 64_KiB,
                                .headroom = 1_B},
                               datafile::DirectoryLock::take(directory_).value(), pool_, settlement_, reports_,
                               callbacks, time_, disk_)
                      .value();
    }

    Result<std::shared_ptr<StreamFile>> create(const std::string& name) {
        datafile::FileOpened opened;
        opened.guid.bytes.fill(static_cast<std::byte>(name.front()));  // so that a volume looks at `a` before `b`
        opened.name = name;
        opened.start.assign(200, std::byte{1});
        return volume_->create(opened, true);
    }
    void put_event(StreamFile& file, std::uint64_t length = 1000) {
        CopyRequest request;
        request.length = length;
        request.ticket = std::make_shared<Ticket>();
        request.ticket->copies_open = 2;  // never settled
        request.ledger = &ledger_;
        Place place;
        ASSERT_TRUE(file.assign(request, place));
        settlement_.placed(ledger_);
        for (auto piece : place.pieces) std::ranges::fill(piece, std::byte{2});
        file.complete(place, {});
    }
    /// An answer waits for the commit of a journal.
    void reject_event() {
        delivery::IncomingEvent event;
        settlement_.reject(event, {}, wire::RejectReason::no_tags, "why");
    }
    /// The call that is in flight has been for so long that the volume is out of use.
    void hang() {
        time_.advance(5s);
        volume_->check_silence(5s);
    }
    void forget(const std::shared_ptr<StreamFile>& file) {
        const auto guid = file->opened().guid;
        EXPECT_TRUE(volume_->forget({&guid, 1}).has_value());
    }
    /// The endings of what has this name.
    std::vector<std::string> endings_of(const std::string& name) const {
        std::vector<std::string> endings;
        for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
            const auto file = entry.path().filename().native();
            if (file.starts_with(name + ".")) endings.push_back(file.substr(name.size()));
        }
        std::ranges::sort(endings);
        return endings;
    }
    /// The alarms of interference with files.
    std::vector<std::string> interfered() {
        const std::scoped_lock lock(mutex_);
        EXPECT_EQ(reports_.interference().count, interfered_.size());
        return interfered_;
    }

    SegmentPool pool_{64_KiB, 8_KiB};
    ManualClock time_;
    Faulty disk_;
    std::mutex mutex_;
    std::vector<std::string> interfered_;
    OperatorReports reports_{[this](const Report& report) {
        const std::scoped_lock lock(mutex_);
        if (report.alarm.starts_with("file removed")) interfered_.push_back(report.alarm);
    }};
    int recoveries_ = 0;
    bool recovery_works_ = true;
    Ledger ledger_;
    Answers answers_;
    Settlement settlement_{{.copies_in_hand_max = 1000}, answers_, reports_};
    std::unique_ptr<Volume> volume_;
};

using Endings = std::vector<std::string>;

TEST_F(VolumeTest, AFileThatIsDiscardedWhileARoundHasItIsNotTakenForRemovedByOthers) {
    const auto file = create("b").value();
    std::latch removed{1};
    std::jthread discarding;
    disk_.before(Call::fdatasync, "b.writing", [&] {
        disk_.before(Call::fsync, directory_, [&] { removed.count_down(); });
        discarding = std::jthread([&] { volume_->discard(file); });
        removed.wait();
    });
    EXPECT_TRUE(volume_->sync_now().has_value());
    discarding.join();
    EXPECT_EQ(interfered(), Endings{});
    EXPECT_EQ(endings_of("b"), Endings{});
}

TEST_F(VolumeTest, AFileThatIsDiscardedWhileNamesAreLookedAtIsNotTakenForRemovedByOthers) {
    const auto other = create("a").value(), file = create("b").value();
    EXPECT_TRUE(volume_->sync_now().has_value());
    std::filesystem::remove(directory_ / "a.index.writing");
    disk_.before(Call::open, "a.index.cut", [&] { volume_->discard(file); });  // after the list of files was taken
    time_.advance(1s);
    EXPECT_TRUE(volume_->sync_now().has_value());
    EXPECT_EQ(interfered(), Endings{"file removed: a.index.writing"});
    EXPECT_EQ(endings_of("a"), (Endings{".index.writing", ".writing"}));
    EXPECT_EQ(endings_of("b"), Endings{});
    volume_->discard(other);
}

TEST_F(VolumeTest, AFileThatBeginsWhileItsVolumeFailsIsGoneWhenTheVolumeIsUsedAgain) {
    const auto other = create("a").value();
    disk_.before(Call::open, "b.index.writing", [&] {
        disk_.fail(Call::pwrite, "weir.journal", EROFS);
        EXPECT_FALSE(volume_->sync_now().has_value());
        disk_.clear();
    });
    ASSERT_FALSE(create("b").has_value());
    EXPECT_EQ(volume_->state(), VolumeState::failed);
    volume_->leave(other->opened().guid);  // as the closing thread does, and then the volume is tried again
    time_.advance(1min);
    static_cast<void>(volume_->sync_now());
    EXPECT_EQ(volume_->state(), VolumeState::good);
    EXPECT_EQ(endings_of("b"), Endings{});
    const auto again = create("b");
    ASSERT_TRUE(again.has_value()) << again.error().message();
    volume_->discard(*again);
}

TEST_F(VolumeTest, AVolumeThatFailedIsTriedAgainAfterTwiceTheTimeUntilItCanBeUsed) {
    time_.advance(2min);  // a volume that had no trouble lately
    const auto file = create("a").value();
    put_event(*file);
    disk_.fail(Call::pwrite, "weir.journal", EROFS);
    volume_->step(time_.now());
    disk_.clear();
    ASSERT_EQ(volume_->state(), VolumeState::failed);
    EXPECT_EQ(ledger_.counts().returned, 1U);
    volume_->leave(file->opened().guid);
    recovery_works_ = false;
    const auto recoveries_after = [&](std::chrono::milliseconds time) {
        time_.advance(time);
        volume_->step(time_.now());
        return recoveries_;
    };
    EXPECT_EQ(recoveries_after(99ms), 0);
    EXPECT_EQ(recoveries_after(1ms), 1);
    EXPECT_EQ(recoveries_after(199ms), 1);
    EXPECT_EQ(recoveries_after(1ms), 2);
    recovery_works_ = true;
    EXPECT_EQ(recoveries_after(399ms), 2);
    EXPECT_EQ(volume_->state(), VolumeState::failed);
    EXPECT_EQ(recoveries_after(1ms), 3);
    EXPECT_EQ(volume_->state(), VolumeState::good);
}

TEST_F(VolumeTest, AVolumeThatIsFullIsUsedAgainByTheRoundThatFindsSpace) {
    disk_.free_blocks = 0;
    volume_->step(time_.now());
    EXPECT_EQ(volume_->state(), VolumeState::full);
    EXPECT_FALSE(create("a").has_value());
    disk_.free_blocks = 1000;
    volume_->step(time_.now());
    EXPECT_EQ(volume_->state(), VolumeState::good);
}

TEST_F(VolumeTest, CopiesAreDurableAfterTheRoundThatFollowsThem) {
    const auto file = create("a").value();
    put_event(*file);
    EXPECT_EQ(ledger_.counts().stored, 0U);
    volume_->step(time_.now());
    EXPECT_EQ(ledger_.counts().stored, 1U);
    EXPECT_EQ(volume_->stats().rounds, 1U);
    volume_->step(time_.now());
    EXPECT_EQ(volume_->stats().rounds, 1U);  // there was nothing to do
}

TEST_F(VolumeTest, TheThreadRunsARoundThatIsWantedAndALastOneAtTheStop) {
    volume_->start();
    const auto file = create("a").value();
    put_event(*file);
    EXPECT_TRUE(volume_->sync_now().has_value());
    EXPECT_EQ(ledger_.counts().stored, 1U);
    put_event(*file);
    volume_->stop();
    EXPECT_EQ(ledger_.counts().stored, 2U);
    volume_->stop();  // does nothing
}

TEST_F(VolumeTest, AVolumeThatHangsInACreateIsNotUsedAgainAndItsStopTouchesNothing) {
    std::latch begun{1};
    std::atomic<bool> hangs{true};
    disk_.before(Call::open, "b.writing", [&] {
        begun.count_down();
        hangs.wait(true);
    });
    std::jthread creating([&] { EXPECT_FALSE(create("b").has_value()); });
    begun.wait();
    time_.advance(4s);
    volume_->check_silence(5s);
    EXPECT_EQ(volume_->state(), VolumeState::good);
    time_.advance(1s);
    volume_->check_silence(5s);
    EXPECT_EQ(volume_->state(), VolumeState::failed);
    const auto work = volume_->unless_it_hangs([] { return Result<>{}; });
    EXPECT_FALSE(work.has_value());
    EXPECT_TRUE(volume_->failure()->message().contains("has not answered for 5 s"));
    hangs = false;
    hangs.notify_all();
    creating.join();
    time_.advance(1min);
    volume_->step(time_.now());
    EXPECT_TRUE(volume_->hangs());
    EXPECT_EQ(volume_->state(), VolumeState::failed);
    EXPECT_EQ(recoveries_, 0);
    volume_->stop();
    EXPECT_TRUE(std::filesystem::exists(directory_ / SpaceReserve::file_name));
    EXPECT_EQ(endings_of("b"), (Endings{".index.writing", ".writing"}));  // the next start removes them
}

TEST_F(VolumeTest, AStopWaitsForWritesInFlightSoThatOneThatNeverEndsIsFoundOut) {
    const auto file = create("a").value();
    std::latch begun{1};
    std::atomic<bool> hangs{true}, ended{false};
    disk_.before(Call::pwrite, "a.writing", [&] {
        begun.count_down();
        hangs.wait(true);
    });
    put_event(*file, 9000);  // its first segment is full, and written before any round
    begun.wait();
    std::jthread disk([&] {
        std::this_thread::sleep_for(20ms);  // a stop that does not wait is over by then
        ended = true;
        hangs = false;
        hangs.notify_all();
    });
    volume_->stop();
    EXPECT_TRUE(ended);
}

TEST_F(VolumeTest, ARoundInWhichTheDiskHungTakesNoAnswersThatAreHeld) {
    const auto file = create("a").value();
    put_event(*file);
    reject_event();
    disk_.before(Call::pwrite, "a.index.writing", [this] { hang(); });
    volume_->step(time_.now());
    EXPECT_TRUE(volume_->hangs());
    EXPECT_EQ(answers_.take(), std::vector<std::string>{});
    EXPECT_FALSE(settlement_.held().pass_over());  // another volume's
}

TEST_F(VolumeTest, ARoundWhoseCommitHungSettlesNothing) {
    const auto file = create("a").value();
    put_event(*file);
    reject_event();
    disk_.before(Call::pwrite, "weir.journal", [this] { hang(); });
    volume_->step(time_.now());
    EXPECT_TRUE(volume_->hangs());
    EXPECT_EQ(volume_->stats().rounds, 0U);
    EXPECT_EQ(answers_.take(), std::vector<std::string>{});
    EXPECT_FALSE(settlement_.held().pass_over());  // another volume's
}

TEST_F(VolumeTest, NothingOfAFileThatFailedBeforeItHeldAnythingTakesSpaceWhileTheCatalogueKnowsIt) {
    disk_.fail(Call::fdatasync, "b.writing", EIO);
    const auto file = create("b").value();
    put_event(*file);
    EXPECT_TRUE(volume_->sync_now().has_value());
    ASSERT_TRUE(file->abandoned());
    int closed = 0;
    disk_.before(Call::close, "b.index.writing", [&] { ++closed; });
    const auto gone = volume_->close_up(file, false);
    ASSERT_TRUE(gone.has_value()) << gone.error().message();
    EXPECT_FALSE(gone->has_value());
    EXPECT_EQ(closed, 1);
    EXPECT_EQ(file->file().size().value(), 0U);
    EXPECT_EQ(endings_of("b"), Endings{});
    forget(file);
}

TEST_F(VolumeTest, AnEmptyFileWhoseIndexHadItsFinalNameAlreadyLeavesNone) {
    const auto file = create("b").value();
    disk_.fail(Call::rename_new, "b.writing", EIO);
    std::vector<Volume::FileToClose> files{
        {file, file->finish([](auto, auto) { return std::vector(40, std::byte{3}); }).value()}};
    volume_->close(files);
    EXPECT_FALSE(files.front().done.has_value());
    ASSERT_EQ(endings_of("b"), (Endings{".index", ".writing"}));
    const auto gone = volume_->close_up(file, false);
    ASSERT_TRUE(gone.has_value()) << gone.error().message();
    EXPECT_FALSE(gone->has_value());
    EXPECT_EQ(endings_of("b"), Endings{});
    forget(file);
}

}  // namespace
}  // namespace weir::recorder
