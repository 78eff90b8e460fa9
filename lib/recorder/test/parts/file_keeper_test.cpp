// SPDX-License-Identifier: Apache-2.0
// Files from their first event to the catalogue, in one thread: the keeper and its volume go step by step.
#include "closing/file_keeper.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "answers.hpp"
#include "ruled_file_system.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class FileKeeperTest : public testing::RecordingFixture {
protected:
    FileKeeperTest() {
        options_.files_closing_max = 1;
        settlement_.begin_run(run_, 0, {});
        settlement_.declare(delivery::SessionId{1}, {"test", 1, 0, run_});
        static_cast<void>(
            catalogue_->open_run({.run = run_, .recorder = options_.recorder, .mode = "off", .relaxations = ""})
                .value());
        volumes_.push_back(Volume::open({.directory = directory_,
                                         .run = run_,
                                         .recorder = options_.recorder,
                                         .direct = DirectIo::off,
                                         .reserve = 64_KiB,
                                         .headroom = 1_B},
                                        datafile::DirectoryLock::take(directory_).value(), pool_, settlement_, reports_,
                                        {.changed = [] {}, .recover = [](auto&) { return Result<>{}; }}, time_, disk_)
                               .value());
        keeper_ = std::make_unique<FileKeeper>(
            options_, run_, *catalogue_, volumes_, blocks_, settlement_, reports_, [this] { ++notified_; }, time_);
    }

    std::shared_ptr<StreamFile> open() {
        return keeper_->open_next(stream("physics_Main"), LumiBlock{1}, event::Format::opaque);
    }
    void put_event(StreamFile& file) {
        auto ticket = std::make_shared<Ticket>();
        ticket->session = 1;
        ticket->sequence = Sequence{++events_};
        ticket->copies_open = 1;
        CopyRequest request;
        request.length = 1000;
        request.event = GlobalEventId{events_};
        request.ticket = ticket;
        request.ledger = &ledger_;
        Place place;
        ASSERT_TRUE(file.assign(request, place));
        settlement_.placed(ledger_);
        for (auto piece : place.pieces) std::ranges::fill(piece, std::byte{2});
        file.complete(place, {});
    }
    std::vector<catalogue::FileRow> files(catalogue::FileState state) {
        return catalogue_->files({.run = run_, .file_state = state}).value();
    }

    const RunNumber run_{17};
    SegmentPool pool_{256_KiB, 64_KiB};
    ManualClock time_;
    Faulty disk_;
    OperatorReports reports_{{}};
    Answers answers_;
    Settlement settlement_{{.recorder = "weir", .copies_in_hand_max = 100}, answers_, reports_};
    Ledger ledger_{"physics", "Main"};
    LumiBlocks blocks_{1s};
    std::uint64_t events_ = 0;
    int notified_ = 0;
    const std::unique_ptr<catalogue::Catalogue> catalogue_ =
        catalogue::open_sqlite_catalogue(directory_ / "files.db").value();
    std::vector<std::unique_ptr<Volume>> volumes_;
    std::unique_ptr<FileKeeper> keeper_;
};

TEST_F(FileKeeperTest, AFileIsInTheCatalogueAsOpenedAndAfterOneStepAsClosedWithTheMarksOfItsEvents) {
    const auto file = open();
    ASSERT_TRUE(file);
    put_event(*file);
    EXPECT_EQ(files(catalogue::FileState::opened).size(), 1U);
    keeper_->close_later(file, true);
    EXPECT_FALSE(keeper_->may_open());  // one may wait
    keeper_->step();
    EXPECT_EQ(answers_.take(), std::vector<std::string>{"acknowledged 1/1"});
    EXPECT_TRUE(keeper_->may_open());
    EXPECT_EQ(notified_, 1);
    EXPECT_EQ(keeper_->files_closed(), 1U);
    const auto closed = files(catalogue::FileState::closed);
    ASSERT_EQ(closed.size(), 1U);
    EXPECT_EQ(closed.front().events, 1U);
    EXPECT_TRUE(settlement_.take_changed_marks().empty());  // the catalogue has them
}

TEST_F(FileKeeperTest, AFileThatCannotBeClosedNowIsTriedAgainByTheNextStep) {
    const auto file = open();
    ASSERT_TRUE(file);
    put_event(*file);
    disk_.fail(Call::rename_new, ".writing", ENOSPC);
    keeper_->close_later(file, true);
    keeper_->step();
    EXPECT_EQ(keeper_->files_waiting(), 1U);
    EXPECT_EQ(files(catalogue::FileState::closed).size(), 0U);
    disk_.clear();
    keeper_->step();
    EXPECT_EQ(keeper_->files_waiting(), 0U);
    EXPECT_EQ(files(catalogue::FileState::closed).size(), 1U);
}

}  // namespace
}  // namespace weir::recorder
