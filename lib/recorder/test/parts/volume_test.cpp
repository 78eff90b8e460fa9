// SPDX-License-Identifier: Apache-2.0
// A volume alone, whose rounds come when the test asks for one: what happens while it is in the middle of a call.
#include "volume/volume.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "ruled_file_system.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class VolumeTest : public testing::RecordingFixture {
protected:
    VolumeTest() {
        Volume::Callbacks callbacks;
        callbacks.session_names = [](std::uint32_t session) {
            return datafile::SessionDeclared{.number = session, .run = RunNumber{17}, .sender = "test"};
        };
        callbacks.durable = [](auto&) {};
        callbacks.lost = [](auto&) {};
        callbacks.changed = [] {};
        callbacks.recover = [](auto&) { return Result<>{}; };
        volume_ =
            Volume::open({.directory = directory_,
                          .direct = DirectIo::off,
                          .sync_interval = 1h,
                          .reserve = 64_KiB,
                          .headroom = 1_B},
                         datafile::DirectoryLock::take(directory_).value(), pool_, reports_, callbacks, time_, disk_)
                .value();
    }

    Result<std::shared_ptr<StreamFile>> create(const std::string& name) {
        datafile::FileOpened opened;
        opened.guid.bytes.fill(static_cast<std::byte>(name.front()));  // so that a volume looks at `a` before `b`
        opened.name = name;
        opened.start.assign(200, std::byte{1});
        return volume_->create(opened, true);
    }
    static void put_event(StreamFile& file) {
        CopyRequest request;
        request.length = 1000;
        request.ticket = std::make_shared<Ticket>();
        Place place;
        ASSERT_TRUE(file.assign(request, place));
        for (auto piece : place.pieces) std::ranges::fill(piece, std::byte{2});
        file.complete(place, {});
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
    /// The alarms that say so.
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
    std::binary_semaphore used_again_{0};
    OperatorReports reports_{[this](const Report& report) {
        if (text_of(report).contains("written again and is used again")) used_again_.release();
        const std::scoped_lock lock(mutex_);
        if (report.alarm.starts_with("file removed")) interfered_.push_back(report.alarm);
    }};
    std::unique_ptr<Volume> volume_;  // the last member: its thread uses all the others
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
    ASSERT_TRUE(used_again_.try_acquire_for(60s));
    EXPECT_EQ(volume_->state(), VolumeState::good);
    EXPECT_EQ(endings_of("b"), Endings{});
    const auto again = create("b");
    ASSERT_TRUE(again.has_value()) << again.error().message();
    volume_->discard(*again);
}

TEST_F(VolumeTest, NothingOfAFileThatFailedBeforeItHeldAnythingTakesSpaceWhileTheCatalogueKnowsIt) {
    disk_.fail(Call::fdatasync, "b.writing", EIO);
    const auto file = create("b").value();
    put_event(*file);
    EXPECT_TRUE(volume_->sync_now().has_value());
    ASSERT_TRUE(file->given_up());
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
