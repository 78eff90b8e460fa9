// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "transfer_fixture.hpp"
#include "weir/base/leaving_file.hpp"

namespace weir::handoff {
namespace {

using testing::HasSubstr;

TEST_F(TransferTest, AGoodFileArrivesUnderItsNameAndTheRowSaysSo) {
    const auto result = run();
    EXPECT_EQ(result.outcome, Outcome::transferred) << result.why;
    EXPECT_EQ(result.bytes, file_.bytes);
    EXPECT_EQ(there(), std::vector<std::string>{"f.data"});
    EXPECT_EQ(stored_row(), row_);
    EXPECT_EQ(row_.state, catalogue::CopyState::transferred);
    EXPECT_EQ(row_.checksum, file_.sums.at(0).value);
}

TEST_F(TransferTest, AWrongSumIsAFailureAndTheCopyIsRemoved) {
    liar_->sum = [&]() -> Result<std::optional<digest::Digest>> {
        return digest::Digest::of_number(digest::Algorithm::adler32, 0);
    };
    const auto result = run();
    EXPECT_EQ(result.outcome, Outcome::failed);
    EXPECT_EQ(result.trouble, Trouble::wrong_bytes);
    EXPECT_TRUE(there().empty());
    EXPECT_EQ(stored_row().state, catalogue::CopyState::failed);
    EXPECT_TRUE(stored_row().next_try.has_value());
    liar_->sum = nullptr;
    EXPECT_EQ(run().outcome, Outcome::transferred);
    EXPECT_EQ(row_.attempts, 2U);
}

TEST_F(TransferTest, NoSumIsUnverifiedAndLaterOnlyTheSumIsAskedFor) {
    liar_->sum = []() -> Result<std::optional<digest::Digest>> { return std::nullopt; };
    EXPECT_EQ(run().outcome, Outcome::unverified);
    EXPECT_EQ(stored_row().state, catalogue::CopyState::unverified);
    EXPECT_EQ(there().size(), 1U);
    liar_->sum = []() -> Result<std::optional<digest::Digest>> {
        return fail(Errc::io, "bytes \x01\xff from outside");
    };
    EXPECT_EQ(run().outcome, Outcome::unverified);
    EXPECT_THAT(stored_row().error, HasSubstr("bytes ?? from outside"));
    liar_->sum = nullptr;
    const auto result = run();
    EXPECT_EQ(result.outcome, Outcome::transferred) << result.why;
    EXPECT_EQ(result.bytes, 0U);
    EXPECT_EQ(row_.attempts, 1U);
    EXPECT_EQ(there(), std::vector<std::string>{"f.data"});
}

TEST_F(TransferTest, AWrongSizeIsAFailureWhateverTheSumSays) {
    liar_->size = [](auto) -> Result<std::optional<std::uint64_t>> { return 0; };
    EXPECT_EQ(run().trouble, Trouble::wrong_bytes);
    liar_->size = nullptr;
    liar_->sum = [&]() -> Result<std::optional<digest::Digest>> {  // the right one, of a file that is empty by now
        return digest::Digest::parse(digest::Algorithm::adler32, file_.sums.at(0).value).value();
    };
    liar_->before_sum = [](const std::string& path) { fs::resize_file(path, 0); };
    EXPECT_EQ(run().trouble, Trouble::wrong_bytes);
    EXPECT_TRUE(there().empty());
}

TEST_F(TransferTest, ADestinationThatLiesWellIsSeenByReadingBack) {
    liar_->sum = [&]() -> Result<std::optional<digest::Digest>> {
        return digest::Digest::parse(digest::Algorithm::adler32, file_.sums.at(0).value).value();
    };
    liar_->before_sum = [](const std::string& path) {
        std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << "other";
    };
    transfer_options_.verification = Verification::both;
    EXPECT_EQ(run().trouble, Trouble::wrong_bytes);
    EXPECT_TRUE(there().empty());
}

TEST_F(TransferTest, ADamagedSourceIsQuarantinedAndNothingIsHandedOver) {
    std::fstream(folder_ / "here/f.data", std::ios::in | std::ios::out | std::ios::binary) << "damage";
    const auto result = run();
    EXPECT_EQ(result.outcome, Outcome::quarantined);
    EXPECT_THAT(result.why, HasSubstr("is damaged"));
    EXPECT_TRUE(there().empty());
    EXPECT_EQ(catalogue_->file(file_.guid).value()->file_health, catalogue::FileHealth::quarantined);
    EXPECT_EQ(run().outcome, Outcome::gone);
}

TEST_F(TransferTest, ASourceThatIsShorterLongerOrGoneIsNotHandedOver) {
    fs::remove(folder_ / "here/f.data");
    EXPECT_EQ(run().trouble, Trouble::source);
    EXPECT_EQ(catalogue_->file(file_.guid).value()->file_health,
              catalogue::FileHealth::sane);  // a disk that is not there is no damage
    std::ofstream(folder_ / "here/f.data") << "short";
    EXPECT_EQ(run().outcome, Outcome::quarantined);
    EXPECT_TRUE(there().empty());
}

TEST_F(TransferTest, AFileWithoutASumIsNotHandedOver) {
    file_ = record("other.data", "content", {{"crc32c", "1"}});
    row_.guid = file_.guid;
    const auto result = run();
    EXPECT_EQ(result.trouble, Trouble::source);
    EXPECT_THAT(result.why, HasSubstr("no adler32"));
}

TEST_F(TransferTest, ALostAnswerOfTheRenameIsFoundOutByTheNextAttempt) {
    liar_->lose_the_answer_of_rename = true;
    EXPECT_EQ(run().outcome, Outcome::unverified);
    EXPECT_EQ(run().outcome, Outcome::transferred);
    EXPECT_EQ(row_.attempts, 1U);
}

TEST_F(TransferTest, AFileThatIsNotOursIsLeftAlone) {
    for (const auto& content : {std::string("theirs"), std::string(file_.bytes, 'y')}) {
        std::ofstream(folder_ / "there/f.data") << content;
        EXPECT_EQ(run().trouble, Trouble::name_taken);
        EXPECT_EQ(fs::file_size(folder_ / "there/f.data"), content.size());
    }
}

TEST_F(TransferTest, WhatACrashLeftIsRemovedWithTheNextAttempt) {
    row_.attempts = 3;
    row_.state = catalogue::CopyState::copying;
    for (std::uint32_t attempt = 1; attempt <= 3; ++attempt)
        std::ofstream(folder_ / "there" / temporary_place("f.data", row_.guid, attempt)) << "part";
    EXPECT_EQ(run().outcome, Outcome::transferred);
    EXPECT_EQ(there(), std::vector<std::string>{"f.data"});
}

TEST_F(TransferTest, ACopyDoesNotCountBeforeWhatEarlierAttemptsLeftIsGone) {
    row_.attempts = 40;
    row_.state = catalogue::CopyState::failed;
    const auto left = temporary_place("f.data", row_.guid, 2);  // older than what the next attempt removes first
    std::ofstream(folder_ / "there" / left) << "part";
    liar_->remove_fails = [&](const std::string& place) { return place == left; };
    EXPECT_EQ(run().outcome, Outcome::unverified);
    EXPECT_THAT(stored_row().error, HasSubstr("earlier attempt"));
    liar_->remove_fails = nullptr;
    const auto result = run();
    EXPECT_EQ(result.outcome, Outcome::transferred) << result.why;
    EXPECT_EQ(result.bytes, 0U) << "it was copied already";
    EXPECT_EQ(there(), std::vector<std::string>{"f.data"});
}

TEST_F(TransferTest, ACopyThatIsThereAlreadyDoesNotCountBeforeWhatEarlierAttemptsLeftIsGone) {
    fs::copy_file(folder_ / "here/f.data", folder_ / "there/f.data");
    row_.attempts = 2;
    row_.state = catalogue::CopyState::copying;
    const auto left = temporary_place("f.data", row_.guid, 2);
    std::ofstream(folder_ / "there" / left) << "part";
    liar_->remove_fails = [&](const std::string& place) { return place == left; };
    EXPECT_EQ(run().outcome, Outcome::unverified);
    liar_->remove_fails = nullptr;
    EXPECT_EQ(run().outcome, Outcome::transferred);
    EXPECT_EQ(there(), std::vector<std::string>{"f.data"});
}

TEST_F(TransferTest, ANameAsLongAsNamesCanBeIsHandedOver) {
    file_ = record(std::string(250, 'n') + ".data", "content");
    row_.guid = file_.guid;
    const auto result = run();
    EXPECT_EQ(result.outcome, Outcome::transferred) << result.why;
}

TEST_F(TransferTest, AStopIsNoFailureAndLeavesNothingThere) {
    std::stop_source stop;
    transfer_options_.progress = [&](std::uint64_t) { stop.request_stop(); };
    EXPECT_EQ(run(stop.get_token()).outcome, Outcome::stopped);
    EXPECT_TRUE(there().empty());
    EXPECT_EQ(stored_row().state, catalogue::CopyState::copying);
    transfer_options_.progress = nullptr;
    EXPECT_EQ(run().outcome, Outcome::transferred);
}

TEST_F(TransferTest, AStopWhileTheCopyIsVerifiedLeavesNothingThereEither) {
    std::stop_source stop;
    liar_->sum = [&] { return stop.request_stop(), fail(Errc::refused, "stopped"); };
    EXPECT_EQ(run(stop.get_token()).outcome, Outcome::stopped);
    EXPECT_TRUE(there().empty());
    EXPECT_EQ(stored_row().state, catalogue::CopyState::copying);
    liar_->sum = nullptr;
    EXPECT_EQ(run().outcome, Outcome::transferred);
    EXPECT_EQ(there(), std::vector<std::string>{"f.data"});
}

TEST_F(TransferTest, AStopWhileASumIsAskedForAgainKeepsTheCopyThatWaitsForIt) {
    liar_->sum = [] { return std::nullopt; };
    EXPECT_EQ(run().outcome, Outcome::unverified);
    const auto waiting = there();
    std::stop_source stop;
    liar_->sum = [&] { return stop.request_stop(), fail(Errc::refused, "stopped"); };
    EXPECT_EQ(run(stop.get_token()).outcome, Outcome::stopped);
    EXPECT_EQ(there(), waiting);
    EXPECT_EQ(stored_row().state, catalogue::CopyState::unverified);
    liar_->sum = nullptr;
    EXPECT_EQ(run().outcome, Outcome::transferred);
    EXPECT_EQ(row_.attempts, 1U);
}

TEST_F(TransferTest, ADestinationThatIsNotMountedIsNotFilledInItsPlace) {
    fs::remove(folder_ / "there");
    const auto result = run();
    EXPECT_EQ(result.trouble, Trouble::destination);
    EXPECT_THAT(result.why, HasSubstr("mount it"));
    EXPECT_FALSE(fs::exists(folder_ / "there"));
}

class DeletionTest : public TransferTest {
protected:
    DeletionTest() {
        EXPECT_EQ(run().outcome, Outcome::transferred);
        EXPECT_TRUE(catalogue_->file_transferred(file_.guid).has_value());
        std::ofstream(folder_ / "here/f.index") << "index";
        clock_.advance(61s);
    }
    catalogue::FileState state() { return catalogue_->file(file_.guid).value()->file_state; }
};

TEST_F(DeletionTest, AFileThatIsSafeElsewhereMakesRoomWithItsIndex) {
    EXPECT_EQ(make_room().files, 1U);
    EXPECT_FALSE(here());
    EXPECT_FALSE(fs::exists(folder_ / "here/f.index"));
    EXPECT_EQ(state(), catalogue::FileState::deleted);
    EXPECT_EQ(make_room().files, 0U);
}

TEST_F(DeletionTest, NothingGoesBelowTheWaterMarkOrBeforeItsAge) {
    EXPECT_EQ(make_room(79).files, 0U);
    catalogue::TransferRow row = row_;
    row.verified = clock_.wall() - 59s;
    ASSERT_TRUE(catalogue_->set_transfer(row).has_value());
    EXPECT_EQ(make_room().files, 0U);
    EXPECT_TRUE(here());
}

TEST_F(DeletionTest, ACopyThatIsGoneOrShorterNowKeepsTheFile) {
    fs::resize_file(folder_ / "there/f.data", 5);
    EXPECT_THAT(make_room().kept, testing::ElementsAre(HasSubstr("has 5 bytes now")));
    fs::remove(folder_ / "there/f.data");
    EXPECT_THAT(make_room().kept, testing::ElementsAre(HasSubstr("gone now")));
    EXPECT_TRUE(here());
    EXPECT_EQ(state(), catalogue::FileState::closed);
}

TEST_F(DeletionTest, WhatADestinationShowsOfTheFileItselfIsNoCopyAndKeepsIt) {
    for (const bool link_of_the_directory : {true, false}) {
        fs::remove_all(folder_ / "there");
        if (link_of_the_directory) {
            fs::create_directory_symlink(folder_ / "here", folder_ / "there");
        } else {  // an export without the lock: only its going and coming shows it
            liar_->size_instead = [&](const std::string& place) -> std::optional<std::uint64_t> {
                std::error_code error;
                const auto size = fs::file_size(folder_ / "here" / place, error);
                return error ? std::nullopt : std::optional<std::uint64_t>(size);
            };
        }
        const auto outcome = make_room();
        EXPECT_EQ(outcome.files, 0U);
        EXPECT_THAT(outcome.kept,
                    testing::ElementsAre(HasSubstr(link_of_the_directory ? "weir.lock" : "this very file")));
        EXPECT_TRUE(here());
        EXPECT_EQ(state(), catalogue::FileState::closed);
    }
    fs::remove(folder_ / "there");
}

TEST_F(DeletionTest, ADestinationThatFallsSilentAtTheLastMomentKeepsTheFileUnderItsName) {
    int asked = 0;
    liar_->size = [&](auto size) -> Result<std::optional<std::uint64_t>> {
        if (++asked == 2) return fail(Errc::io, "no answer");
        return size;
    };
    EXPECT_THAT(make_room().kept, testing::ElementsAre(HasSubstr("no answer")));
    EXPECT_TRUE(here());
    EXPECT_EQ(make_room().files, 1U);
}

TEST_F(DeletionTest, ADeathWhileTheFileLeavesIsFinishedOrPutBack) {
    fs::rename(folder_ / "here/f.data", leaving_name(folder_ / "here/f.data"));
    EXPECT_TRUE(deletion().restore_names().value().empty());
    EXPECT_TRUE(here());
    fs::rename(folder_ / "here/f.data", leaving_name(folder_ / "here/f.data"));
    EXPECT_EQ(make_room().files, 1U);
    EXPECT_FALSE(fs::exists(leaving_name(folder_ / "here/f.data")));
}

TEST_F(DeletionTest, AFileThatCannotBeRemovedIsKeptAndTheOthersGo) {
    file_ = record("g.data", "content of g");
    row_ = {};
    row_.guid = file_.guid;
    row_.destination = "disk";
    ASSERT_EQ(run().outcome, Outcome::transferred);
    ASSERT_TRUE(catalogue_->file_transferred(file_.guid).has_value());
    clock_.advance(61s);
    fs::remove(folder_ / "here/f.index");
    fs::create_directories(folder_ / "here/f.index/not empty");
    const auto outcome = make_room();
    EXPECT_EQ(outcome.files, 1U);
    EXPECT_THAT(outcome.kept, testing::ElementsAre(HasSubstr("f.index")));
    EXPECT_FALSE(fs::exists(folder_ / "here/g.data"));
}

TEST_F(DeletionTest, AFurtherDestinationThatHasNoVerifiedCopyKeepsTheFile) {
    destinations_.push_back(directory_destination("second", folder_ / "there"));
    const auto outcome = make_room();
    EXPECT_EQ(outcome.files, 0U);
    EXPECT_TRUE(outcome.kept.empty()) << "it is on its way, that is no alarm";
    EXPECT_TRUE(here());
}

TEST_F(DeletionTest, AVolumeThatIsNotMountedHasNotLostItsFiles) {
    fs::remove(folder_ / "here/weir.lock");
    fs::remove(folder_ / "here/f.data");
    EXPECT_THAT(make_room().kept, testing::ElementsAre(HasSubstr("is it mounted")));
    EXPECT_EQ(state(), catalogue::FileState::closed);
}

TEST_F(DeletionTest, ACrashBetweenTheBytesAndTheCatalogueIsFinished) {
    fs::remove(folder_ / "here/f.data");
    EXPECT_EQ(make_room().files, 1U);
    EXPECT_EQ(state(), catalogue::FileState::deleted);
}

TEST_F(TransferTest, OnlyWhatWasHandedOverIsDeleted) {
    EXPECT_EQ(make_room().files, 0U);
    EXPECT_EQ(run().outcome,
              Outcome::transferred);  // at the destination, and the catalogue does not call the file so yet
    clock_.advance(61s);
    EXPECT_EQ(make_room().files, 0U);
    EXPECT_TRUE(here());
}

}  // namespace
}  // namespace weir::handoff
