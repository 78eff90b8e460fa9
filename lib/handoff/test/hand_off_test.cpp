// SPDX-License-Identifier: Apache-2.0
// The hand-off with its threads, over real directories.
#include "weir/handoff/hand_off.hpp"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <thread>

#include "transfer_fixture.hpp"

namespace weir::handoff {
namespace {

/// Answers nothing until it is asked to stop.
class Silent final : public Destination {
public:
    const std::string& name() const noexcept override { return name_; }
    std::string url(const std::string& place) const override { return place; }
    Result<std::unique_ptr<Upload>> begin(const std::string&, std::uint64_t, const Patience& patience) override {
        return hang(patience);
    }
    Result<std::optional<std::uint64_t>> size_of(const std::string&, const Patience& patience) override {
        return hang(patience);
    }
    Result<std::optional<digest::Digest>> stored_sum(const std::string&, digest::Algorithm,
                                                     const Patience& patience) override {
        return hang(patience);
    }
    Result<digest::Digest> read_back(const std::string&, digest::Algorithm, const Patience& patience) override {
        return hang(patience);
    }
    Result<> rename_new(const std::string&, const std::string&, const Patience& patience) override {
        return hang(patience);
    }
    Result<> remove(const std::string&, const Patience& patience) override { return hang(patience); }

private:
    static std::unexpected<Error> hang(const Patience& patience) {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        never.wait(lock, patience.stop, [] { return false; });
        return fail(Errc::io, "no answer");
    }
    const std::string name_ = "silent";
};

class HandOffTest : public TransferTest {
protected:
    HandOffTest() {
        for (int i = 0; i < 5; ++i)
            files_.push_back(record("f" + std::to_string(i) + ".data", std::string(100'000, 'y') + std::to_string(i)));
        files_.push_back(file_);
        options_.poll = 5ms;
        options_.retry_first = 1ms;
        options_.retry_most = 5ms;
        options_.once = true;
    }
    Reporter reporter() {
        return [this](const Report& report) {
            const std::scoped_lock lock(reports_mutex_);
            if (!report.alarm.empty()) alarms_.insert(report.alarm);
        };
    }
    std::unique_ptr<HandOff> start() {
        auto made = HandOff::create(*catalogue_, std::move(destinations_), options_, system_clock_, reporter());
        EXPECT_TRUE(made.has_value()) << made.error().message();
        (*made)->start();
        return std::move(*made);
    }
    HandOffSummary run_once() {
        const auto hand_off = start();
        EXPECT_TRUE(hand_off->wait_until_over(120s));
        return hand_off->summary();
    }
    std::size_t transferred() {
        return catalogue_->files({.transfer_state = catalogue::TransferState::transferred}).value().size();
    }
    void wait_for(const std::function<bool()>& condition) {
        for (int i = 0; i < 120'000; ++i) {
            if (condition()) return;
            std::this_thread::sleep_for(1ms);
        }
        FAIL() << "waited for two minutes";
    }
    std::vector<std::string> alarms() {
        const std::scoped_lock lock(reports_mutex_);
        return {alarms_.begin(), alarms_.end()};
    }

    SystemClock system_clock_;
    std::mutex reports_mutex_;
    std::set<std::string> alarms_;
    HandOffOptions options_;
    std::vector<catalogue::FileRow> files_;
};

TEST_F(HandOffTest, OnceHandsOverWhatIsClosedToEveryDestinationAndEnds) {
    fs::create_directory(folder_ / "second");
    destinations_.push_back(directory_destination("second", folder_ / "second"));
    const auto summary = run_once();
    EXPECT_EQ(summary.files_transferred, files_.size());
    EXPECT_EQ(summary.destinations.at(1).transferred, files_.size());
    EXPECT_EQ(transferred(), files_.size());
    EXPECT_EQ(there().size(), files_.size());
    EXPECT_TRUE(fs::exists(folder_ / "second/f.data"));
    EXPECT_TRUE(alarms().empty());
}

TEST_F(HandOffTest, OneThatHangsHoldsUpNoOtherAndNoStop) {
    destinations_.push_back(std::make_unique<Silent>());
    options_.once = false;
    const auto hand_off = start();
    wait_for([&] { return there().size() == files_.size(); });
    EXPECT_EQ(transferred(), 0U) << "to both, or not at all";
    EXPECT_TRUE(hand_off->stop(120s));
}

TEST_F(HandOffTest, AFileThatIsClosedLaterIsFoundAndADestinationThatRecoversIsUsedAgain) {
    options_.once = false;
    std::atomic<bool> broken = true;
    liar_->size = [&](auto size) -> Result<std::optional<std::uint64_t>> {
        if (broken) return fail(Errc::io, "out of order");
        return size;
    };
    std::ofstream(folder_ / "there/f.data") << "";  // something to look at, so that it answers at all
    const auto hand_off = start();
    wait_for([&] { return std::ranges::count(alarms(), "handoff-destination:disk") == 1; });
    fs::remove(folder_ / "there/f.data");
    broken = false;
    record("late.data", "late");
    wait_for([&] { return transferred() == files_.size() + 1; });
    wait_for([&] { return hand_off->summary().destinations.at(0).up; });
    EXPECT_TRUE(hand_off->stop(120s));
}

TEST_F(HandOffTest, TheEndOfARunIsWaitedForUntilItsFilesAreThereAndNotForOthers) {
    options_.once = false;
    options_.poll = 1h;  // nothing but the end of the run makes it look again
    ASSERT_TRUE(catalogue_->set_file_health(record("bad.data", "bad").guid, catalogue::FileHealth::quarantined));
    const auto hand_off = start();
    wait_for([&] { return transferred() == files_.size(); });
    record("late.data", "late");
    EXPECT_TRUE(hand_off->finish_run(file_.run, 120s));
    EXPECT_EQ(transferred(), files_.size() + 1);
    EXPECT_EQ(hand_off->summary().files_open, 0U);
    fs::remove_all(folder_ / "there");
    record("later.data", "later");
    EXPECT_FALSE(hand_off->finish_run(file_.run, 50ms)) << "its destination is away";
    EXPECT_TRUE(hand_off->finish_run(RunNumber{number(file_.run) + 1}, 120s));
    EXPECT_EQ(hand_off->summary().files_open, 1U);
    EXPECT_TRUE(hand_off->stop(120s));
}

TEST_F(HandOffTest, TheEndOfARunDoesNotWaitForAFileOfAnotherOneThatCannotBeEntered) {
    options_.once = false;
    {
        sqlite3* database = nullptr;
        ASSERT_EQ(sqlite3_open((folder_ / "catalogue").c_str(), &database), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(database,
                               "CREATE TRIGGER broken BEFORE UPDATE OF transfer_state ON files BEGIN "
                               "SELECT json('not JSON'); END",  // fails, and is no refusal
                               nullptr, nullptr, nullptr),
                  SQLITE_OK);
        sqlite3_close(database);
    }
    const auto hand_off = start();
    wait_for([&] { return hand_off->summary().catalogue_failures > 0; });
    EXPECT_TRUE(hand_off->finish_run(RunNumber{number(file_.run) + 1}, 24h));
    EXPECT_FALSE(hand_off->finish_run(file_.run, 50ms)) << "its own files are not entered";
    EXPECT_EQ(transferred(), 0U);
    EXPECT_TRUE(hand_off->stop(120s));
}

TEST_F(HandOffTest, AStopEndsTheWaitForTheEndOfARun) {
    destinations_.push_back(std::make_unique<Silent>());
    options_.once = false;
    const auto hand_off = start();
    {
        const std::jthread waits([&] { EXPECT_FALSE(hand_off->finish_run(file_.run, 24h)); });
        wait_for([&] { return there().size() == files_.size(); });
        EXPECT_TRUE(hand_off->stop(120s));
    }
}

TEST_F(HandOffTest, OnceAbandonsWhatDoesNotGoAndCountsIt) {
    fs::remove(folder_ / "there");
    const auto summary = run_once();
    EXPECT_EQ(summary.files_transferred, 0U);
    EXPECT_EQ(summary.destinations.at(0).abandoned, files_.size());
    EXPECT_FALSE(summary.destinations.at(0).up);
    EXPECT_THAT(summary.destinations.at(0).error, testing::HasSubstr("mount it"));
}

TEST_F(HandOffTest, WhatACrashLeftOfAFileThatIsNotHandedOverAnyMoreIsRemoved) {
    row_.attempts = 2;
    row_.state = catalogue::CopyState::copying;
    ASSERT_TRUE(catalogue_->set_transfer(row_).has_value());
    ASSERT_TRUE(catalogue_->set_file_health(file_.guid, catalogue::FileHealth::quarantined).has_value());
    const auto orphan = folder_ / "there" / temporary_place("f.data", row_.guid, 2);
    std::ofstream(orphan) << "part";
    EXPECT_EQ(run_once().files_transferred, files_.size() - 1);
    EXPECT_FALSE(fs::exists(orphan));
    EXPECT_EQ(stored_row().state, catalogue::CopyState::pending);
}

TEST_F(HandOffTest, AnOrphanThatCannotBeRemovedHoldsUpNoOtherAndIsTriedAgain) {
    options_.once = false;
    std::vector<std::string> orphans;
    for (const auto& file : {files_[0], files_[1], files_[2]}) {
        catalogue::TransferRow row;
        row.guid = file.guid;
        row.destination = "disk";
        row.attempts = 1;
        row.state = catalogue::CopyState::failed;
        ASSERT_TRUE(catalogue_->set_transfer(row).has_value());
        ASSERT_TRUE(catalogue_->set_file_health(file.guid, catalogue::FileHealth::quarantined).has_value());
        orphans.push_back(temporary_place(file.name, file.guid, 1));
        std::ofstream(folder_ / "there" / orphans.back()) << "part";
    }
    std::atomic<bool> fails = true;
    liar_->remove_fails = [&](const std::string& place) { return fails && place == std::ranges::min(orphans); };
    const auto stuck = std::ranges::min(orphans);
    const auto hand_off = start();
    wait_for([&] { return transferred() == 3 && there().size() == 3 + 1; });
    EXPECT_EQ(std::ranges::count(there(), stuck), 1);
    fails = false;
    // Orphans are looked at after each copy; one that could not be removed a moment ago waits for the next.
    int late = 0;
    wait_for([&] {
        record("late" + std::to_string(late++) + ".data", "late");
        return std::ranges::count(there(), stuck) == 0;
    });
    EXPECT_TRUE(hand_off->stop(120s));
}

TEST_F(HandOffTest, WhatTheCatalogueRefusesForEverIsNotAskedForEver) {
    options_.once = false;
    options_.transfer.verification = Verification::both;
    liar_->before_sum = [&](const std::string&) {
        EXPECT_TRUE(catalogue_->set_file_health(file_.guid, catalogue::FileHealth::quarantined).has_value());
    };
    for (const auto& file : files_) {
        const auto health = file.guid == file_.guid ? catalogue::FileHealth::sane : catalogue::FileHealth::quarantined;
        ASSERT_TRUE(catalogue_->set_file_health(file.guid, health).has_value());
    }
    const auto hand_off = start();
    wait_for([&] { return hand_off->summary().catalogue_failures > 0; });
    std::this_thread::sleep_for(100ms);  // many polls
    EXPECT_EQ(hand_off->summary().catalogue_failures, 1U);
    EXPECT_TRUE(hand_off->stop(120s));
}

TEST_F(HandOffTest, AFileThatACrashCutShortGoesLikeTheOthers) {
    ASSERT_TRUE(catalogue_->set_file_health(file_.guid, catalogue::FileHealth::truncated).has_value());
    EXPECT_EQ(run_once().files_transferred, files_.size());
    EXPECT_TRUE(fs::exists(folder_ / "there/f.data"));
}

TEST_F(HandOffTest, ACrashAfterTheLastCopyAndBeforeTheCatalogueIsFinished) {
    ASSERT_EQ(TransferTest::run().outcome, Outcome::transferred);
    EXPECT_EQ(run_once().files_transferred, files_.size());
    EXPECT_EQ(transferred(), files_.size());
}

TEST_F(HandOffTest, ADamagedFileIsAnAlarmAndTheOthersGo) {
    std::fstream(folder_ / "here/f.data", std::ios::in | std::ios::out | std::ios::binary) << "damage";
    const auto summary = run_once();
    EXPECT_EQ(summary.files_quarantined, 1U);
    EXPECT_EQ(summary.files_transferred, files_.size() - 1);
    EXPECT_THAT(alarms(), testing::ElementsAre("handoff-quarantined"));
}

TEST_F(HandOffTest, AFileThatWaitsTooLongIsAnAlarm) {
    options_.once = false;
    options_.alarm_age = 1s;  // the files were closed by a clock that is years behind
    fs::remove(folder_ / "there");
    const auto hand_off = start();
    wait_for([&] { return std::ranges::count(alarms(), "handoff-late:disk") == 1; });
    EXPECT_TRUE(hand_off->stop(120s));
}

TEST_F(HandOffTest, ADestinationThatIsAddedLaterGetsWhatIsTransferredAlready) {
    ASSERT_EQ(TransferTest::run().outcome, Outcome::transferred);
    ASSERT_TRUE(catalogue_->file_transferred(file_.guid).has_value());
    fs::create_directory(folder_ / "second");
    destinations_.push_back(directory_destination("second", folder_ / "second"));
    options_.alarm_age = 1s;
    const auto summary = run_once();
    EXPECT_EQ(summary.files_transferred, files_.size());
    EXPECT_EQ(summary.destinations.at(0).transferred, files_.size() - 1);
    EXPECT_EQ(summary.destinations.at(1).transferred, files_.size());
    EXPECT_TRUE(fs::exists(folder_ / "second/f.data"));
    EXPECT_EQ(catalogue_->transfers({.guid = file_.guid, .state = catalogue::CopyState::transferred}).value().size(),
              2U);
}

TEST_F(HandOffTest, AFileWithoutASumIsCountedAndIsNoAttempt) {
    const auto without = record("without.data", "content", {{"crc32c", "1"}});
    const auto summary = run_once();
    EXPECT_EQ(summary.files_without_sum, 1U);
    EXPECT_EQ(summary.files_transferred, files_.size());
    EXPECT_EQ(summary.destinations.at(0).failed, 0U);
    EXPECT_TRUE(catalogue_->transfers({.guid = without.guid}).value().empty());
    EXPECT_TRUE(alarms().empty());
}

TEST_F(HandOffTest, TwoDestinationsOfOneNameAreAUsageError) {
    destinations_.push_back(directory_destination("disk", folder_ / "there"));
    EXPECT_EQ(HandOff::create(*catalogue_, std::move(destinations_), options_, system_clock_, reporter()).error().code,
              Errc::usage);
    EXPECT_FALSE(HandOff::create(*catalogue_, {}, options_, system_clock_, reporter()).has_value());
}

}  // namespace
}  // namespace weir::handoff
