// SPDX-License-Identifier: Apache-2.0
// What a successor takes over from the catalogue of a recorder that does not come back, and what it refuses.
#include <gtest/gtest.h>

#include <map>

#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/hand_off_lock.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"
#include "weir/recovery/rebuild.hpp"

namespace weir::recovery {
namespace {

using namespace std::chrono_literals;

class AdoptTest : public testing::RecordingFixture {
protected:
    AdoptTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-successor-XXXXXX").string();
        successor_directory_ = ::mkdtemp(pattern.data());
        successor_ = catalogue::open_sqlite_catalogue(catalogue::catalogue_path(successor_directory_)).value();
    }
    ~AdoptTest() override {
        successor_.reset();
        std::filesystem::remove_all(successor_directory_);
    }

    /// A recorder that closes its run, or dies in it.
    void record(bool dies) {
        const auto recorder = start();
        const auto sender = connect(*recorder);
        for (std::uint64_t id = 1; id <= 3; ++id)
            ASSERT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 2000))
                            .has_value());
        ASSERT_TRUE(flushed(*sender));
        if (dies) return;
        ASSERT_TRUE(recorder->stop(120s).has_value());
    }

    void expect_refused(const std::string& because) {
        const auto runs = successor_->runs().value();
        const auto files = successor_->files().value();
        const auto refused = adopt_volumes(options_.directories, *successor_, clock_);
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code, Errc::refused);
        EXPECT_NE(refused.error().message().find(because), std::string::npos) << refused.error().message();
        EXPECT_EQ(successor_->runs().value(), runs);
        EXPECT_EQ(successor_->files().value(), files);
    }

    std::filesystem::path successor_directory_;
    std::unique_ptr<catalogue::Catalogue> successor_;
};

TEST_F(AdoptTest, ARunOfTheSuccessorsOwnWithTheSameNameIsNeitherClosedNorMixed) {
    record(true);
    const auto opened = successor_->open_run({.run = *options_.run,
                                              .recorder = options_.recorder,
                                              .mode = "receipt",
                                              .relaxations = "",
                                              .at = clock_.wall()});
    ASSERT_TRUE(opened.has_value());
    expect_refused("run 17 of recorder weir is in the catalogue already");
    EXPECT_EQ(successor_->runs().value().front().state, catalogue::OpenState::opened);
    std::filesystem::rename(catalogue::catalogue_path(directory_),
                            directory_ / "lost");  // the same with nothing but file names
    expect_refused("run 17 of recorder weir is in the catalogue already");
    catalogue::FileRow own;
    own.guid = Guid::random();
    own.volume = successor_directory_.native();
    own.name = "its-own.data";
    own.run = *options_.run;
    own.recorder = options_.recorder;
    own.stream_type = "physics";
    own.stream_name = "Main";
    own.format = "raw-6";
    own.file_state = catalogue::FileState::closed;
    ASSERT_TRUE(successor_->put_file(own).has_value());
    ASSERT_TRUE(successor_->close_run(*options_.run, options_.recorder, clock_.wall()).has_value());
    expect_refused(successor_directory_.native() + ", which is not adopted");
}

TEST_F(AdoptTest, WhatWasHandedOverAndWhatBelongsToARunComesAlong) {
    record(false);
    catalogue::TransferRow transfer;
    {
        const auto old = catalogue();
        const auto file = old->files().value().front();
        transfer = {.guid = file.guid,
                    .destination = "tape",
                    .state = catalogue::CopyState::transferred,
                    .attempts = 2,
                    .next_try = {},
                    .bytes = file.bytes,
                    .algorithm = "adler32",
                    .checksum = "0badcafe",
                    .url = "file:///tape/x",
                    .error = "",
                    .first_try = WallTime{1s},
                    .changed = WallTime{2s},
                    .verified = WallTime{2s}};
        ASSERT_TRUE(old->set_transfer(transfer).has_value());
        ASSERT_TRUE(old->file_transferred(file.guid).has_value());
        ASSERT_TRUE(old->set_file_health(file.guid, catalogue::FileHealth::truncated).has_value());
        ASSERT_TRUE(old->set_run_parameter(*options_.run, "energy", "6800").has_value());
        ASSERT_TRUE(old->set_run_parameter(*options_.run, "beam", "p").has_value());
        ASSERT_TRUE(old->put_file(old->file(file.guid).value().value(), {{"express_express", 1}}).has_value());
        ASSERT_TRUE(old->set_reader_state({.run = {}, .recorder = "", .file = file.guid, .state = "DONE"}).has_value());
    }
    ASSERT_TRUE(successor_->set_run_parameter(*options_.run, "beam", "Pb").has_value());
    ASSERT_TRUE(adopt_volumes(options_.directories, *successor_, clock_).has_value());
    EXPECT_EQ(successor_->transfers().value(), std::vector{transfer});
    EXPECT_EQ(successor_->shared_events(transfer.guid).value(), (catalogue::SharedEvents{{"express_express", 1}}));
    EXPECT_EQ(successor_->reader_states().value().at(0).state, "DONE");
    const std::map<std::string, std::string> parameters{{"beam", "Pb"}, {"energy", "6800"}};
    EXPECT_EQ(successor_->run_parameters(*options_.run).value(), parameters);
    const auto file = successor_->files().value().front();
    EXPECT_EQ(file.transfer_state, catalogue::TransferState::transferred);
    EXPECT_EQ(file.file_health, catalogue::FileHealth::truncated);
}

TEST_F(AdoptTest, ACatalogueThatAHandOffWorksWithIsNotTakenAway) {
    record(false);
    {
        const auto hand_off = catalogue::HandOffLock::take(catalogue::catalogue_path(directory_));
        ASSERT_TRUE(hand_off.has_value());
        expect_refused("handed over or moved by another process (" + std::to_string(::getpid()) + ")");
    }
    EXPECT_TRUE(adopt_volumes(options_.directories, *successor_, clock_).has_value());
}

}  // namespace
}  // namespace weir::recovery
