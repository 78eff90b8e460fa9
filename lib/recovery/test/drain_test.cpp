// SPDX-License-Identifier: Apache-2.0
// A volume is emptied into others, and nothing is removed before its copy was proved.
#include "weir/recovery/drain.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "weir/base/file.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recovery {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class DrainTest : public testing::RecordingFixture {
protected:
    DrainTest() {
        std::string pattern = (fs::temp_directory_path() / "weir-drain-XXXXXX").string();
        other_ = ::mkdtemp(pattern.data());
        options_.file_events_max = 3;
    }
    ~DrainTest() override { fs::remove_all(other_); }

    void SetUp() override {
        const auto recorder = start();
        const auto sender = connect(*recorder);
        for (std::uint64_t id = 1; id <= 9; ++id)
            ASSERT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 3000))
                            .has_value());
        ASSERT_TRUE(flushed(*sender));
        ASSERT_TRUE(recorder->stop(60s).has_value());
        ASSERT_EQ(data_files().size(), 3U);
    }

    Result<DrainResult> drain() {
        return drain_volume({.volume = directory_, .targets = {other_}, .progress = {}, .stop = {}}, *catalogue());
    }

    /// No event is in the drained volume, the other volume has all, and it is as it was recorded.
    void expect_moved() {
        for (const auto& entry : fs::directory_iterator(directory_)) {
            const auto name = entry.path().filename().native();
            EXPECT_TRUE(name.starts_with("weir.")) << name;
        }
        for (const auto& entry : fs::directory_iterator(other_)) EXPECT_NE(entry.path().extension(), ".draining");
        const auto rows = catalogue()->files().value();
        ASSERT_EQ(rows.size(), 3U);
        for (const auto& row : rows) EXPECT_EQ(row.volume, fs::canonical(other_).native());
        expect_all_good(3);
    }

    fs::path other_;
};

TEST_F(DrainTest, MovesFilesWithTheirIndexesAndTheCatalogueKnowsWhere) {
    const auto result = drain().value();
    EXPECT_EQ(result.files, 3U);
    EXPECT_TRUE(result.failed.empty());
    expect_moved();
    const auto again = drain().value();
    EXPECT_EQ(again.files, 0U);
    EXPECT_EQ(again.open + again.unknown, 0U);
}

TEST_F(DrainTest, WhatAnEarlierCallLeftHalfDoneIsFinished) {
    const auto files = data_files();
    // One was being copied, one was copied but not yet known, one was known but not yet removed.
    std::ofstream(other_ / (files[0].filename().native() + ".draining")) << "half";
    fs::copy_file(files[1], other_ / files[1].filename());
    fs::copy_file(datafile::index_path_of(files[1]), other_ / datafile::index_path_of(files[1]).filename());
    fs::copy_file(files[2], other_ / files[2].filename());
    fs::copy_file(datafile::index_path_of(files[2]), other_ / datafile::index_path_of(files[2]).filename());
    const auto guid = datafile::StoredIndex::read(datafile::index_path_of(files[2]))->closed.guid;
    ASSERT_TRUE(
        catalogue()->file_moved(guid, fs::canonical(other_).native(), files[2].filename().native()).has_value());
    const auto result = drain().value();
    EXPECT_EQ(result.files, 2U);
    EXPECT_TRUE(result.failed.empty());
    expect_moved();
}

TEST_F(DrainTest, AnIndexThatAPowerCutTookFromTheCopyIsCopiedAgain) {
    const auto files = data_files();
    fs::copy_file(files[0], other_ / files[0].filename());
    fs::copy_file(files[1], other_ / files[1].filename());
    std::ofstream(other_ / datafile::index_path_of(files[1]).filename()) << "torn";
    const auto result = drain().value();
    EXPECT_EQ(result.files, 3U);
    for (const auto& file : files) {
        const auto index = datafile::StoredIndex::read(other_ / datafile::index_path_of(file).filename());
        EXPECT_TRUE(index.has_value()) << file;
    }
    expect_moved();
}

TEST_F(DrainTest, WhatTheCatalogueHasElsewhereIsRemovedHereOnlyWhenItIsThereAsItWasRecorded) {
    const auto files = data_files();
    for (const auto& file : files) {
        const auto guid = datafile::StoredIndex::read(datafile::index_path_of(file))->closed.guid;
        ASSERT_TRUE(
            catalogue()->file_moved(guid, fs::canonical(other_).native(), file.filename().native()).has_value());
    }
    // The first is not there, the second has no index there, the third is another one.
    fs::copy_file(files[1], other_ / files[1].filename());
    fs::copy_file(files[2], other_ / files[2].filename());
    fs::copy_file(datafile::index_path_of(files[2]), other_ / datafile::index_path_of(files[2]).filename());
    fs::resize_file(other_ / files[2].filename(), 100);
    EXPECT_EQ(drain().value().failed.size(), 3U);
    for (const auto& file : files) {
        EXPECT_TRUE(fs::exists(file));
        EXPECT_TRUE(fs::exists(datafile::index_path_of(file)));
    }
}

TEST_F(DrainTest, WhatAHandOffDeletesMeanwhileStaysDeleted) {
    const auto rows = catalogue()->files().value();
    DrainOptions options{.volume = directory_, .targets = {other_}, .progress = {}, .stop = {}};
    const auto known = catalogue();
    bool deleted = false;
    options.progress = [&](std::uint64_t) {
        if (std::exchange(deleted, true)) return;
        for (const auto& row : rows) {
            ASSERT_TRUE(known->file_transferred(row.guid).has_value());
            ASSERT_TRUE(known->file_deleted(row.guid, row.volume, row.name).has_value());
        }
    };
    ASSERT_TRUE(drain_volume(options, *catalogue()).has_value());
    EXPECT_TRUE(fs::is_empty(other_));
    const auto now = known->files().value();
    for (const auto& row : now) EXPECT_EQ(row.file_state, catalogue::FileState::deleted);
}

TEST_F(DrainTest, ADamagedFileStaysAndIsNamed) {
    const auto damaged = data_files()[1];
    {
        auto file = File::open(damaged, File::Mode::read_write).value();
        std::vector<std::byte> byte(1);
        ASSERT_TRUE(file.read_at(2000, byte).has_value());
        byte[0] ^= std::byte{1};
        ASSERT_TRUE(file.write_at(2000, byte).has_value());
    }
    const auto result = drain().value();
    EXPECT_EQ(result.files, 2U);
    ASSERT_EQ(result.failed.size(), 1U);
    EXPECT_NE(result.failed[0].message().find(damaged.filename().native()), std::string::npos);
    EXPECT_TRUE(fs::exists(damaged));
    EXPECT_FALSE(fs::exists(other_ / damaged.filename()));
}

TEST_F(DrainTest, AnotherFileOfThatNameIsNeverOverwritten) {
    const auto taken = data_files()[0];
    std::ofstream(other_ / taken.filename()) << "something else";
    const auto result = drain().value();
    EXPECT_EQ(result.files, 2U);
    ASSERT_EQ(result.failed.size(), 1U);
    EXPECT_TRUE(fs::exists(taken));
    EXPECT_EQ(fs::file_size(other_ / taken.filename()), 14U);
}

TEST_F(DrainTest, OpenAndUnknownFilesAreCountedAndStay) {
    const auto file = data_files()[0];
    const auto guid = datafile::StoredIndex::read(datafile::index_path_of(file))->closed.guid;
    fs::copy_file(file, directory_ / "data_test.00000017.physics_Main.daq.RAW._lb0001._weir._0009.writing");
    fs::copy_file(file, directory_ / "data_test.00000017.physics_Main.daq.RAW._lb0001._weir._0008.data");
    const auto result = drain().value();
    EXPECT_EQ(result.files, 3U);
    EXPECT_EQ(result.open, 1U);
    EXPECT_EQ(result.unknown, 1U);
    EXPECT_EQ(catalogue()->file(guid).value()->volume, fs::canonical(other_).native());
}

TEST_F(DrainTest, AVolumeIsNotEmptiedIntoItselfOrIntoNothing) {
    const auto code = [&](std::vector<fs::path> targets) {
        return drain_volume({.volume = directory_, .targets = std::move(targets), .progress = {}, .stop = {}},
                            *catalogue())
            .error()
            .code;
    };
    EXPECT_EQ(code({directory_ / "."}), Errc::usage);
    EXPECT_EQ(code({}), Errc::usage);
    EXPECT_EQ(code({other_ / "nowhere"}), Errc::io);
}

}  // namespace
}  // namespace weir::recovery
