// SPDX-License-Identifier: Apache-2.0
// The file systems that fail on purpose do what they promise: else what they prove is worth nothing.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <set>

#include "weir/base/testing/crashing_file_system.hpp"
#include "weir/base/testing/faulty_file_system.hpp"

namespace weir::testing {
namespace {

class TestingTest : public ::testing::Test {
protected:
    TestingTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-testing-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
    }
    ~TestingTest() override { std::filesystem::remove_all(directory_); }

    Result<File> create(const char* name, FileSystem& system) const {
        return File::open(directory_ / name, File::Mode::create_new, system);
    }

    /// Name and content of everything that is there.
    std::map<std::string, std::string> files() const {
        std::map<std::string, std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(directory_))
            found[entry.path().filename().native()] = read_text(entry.path(), 1_MiB).value();
        return found;
    }

    std::filesystem::path directory_;
    CrashingFileSystem disk_;
};

using Files = std::map<std::string, std::string>;

TEST_F(TestingTest, TheNthCallOfAKindFailsAndNoOther) {
    FaultyFileSystem system;
    system.set({.call = Call::pwrite, .nth = 2, .error = EDQUOT});
    auto file = create("f", system).value();
    EXPECT_TRUE(file.write_at(0, as_data("a")).has_value());
    EXPECT_TRUE(file.sync_data().has_value());
    EXPECT_FALSE(system.fired());
    const auto failed = file.write_at(1, as_data("b"));
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().os_errno, EDQUOT);
    EXPECT_TRUE(system.fired());
    EXPECT_TRUE(file.write_at(1, as_data("c")).has_value());
    EXPECT_EQ(files(), (Files{{"f", "ac"}}));
}

TEST_F(TestingTest, FromThenOnEveryCallFailsUntilTheDiskIsRepaired) {
    FaultyFileSystem system;
    system.set({.call = Call::fdatasync, .nth = 2, .from_then_on = true});
    auto file = create("f", system).value();
    EXPECT_TRUE(file.sync_data().has_value());
    EXPECT_FALSE(file.sync_data().has_value());
    EXPECT_FALSE(file.sync_data().has_value());
    system.clear();
    EXPECT_TRUE(file.sync_data().has_value());
}

TEST_F(TestingTest, OnlyCallsForThePathAreCounted) {
    FaultyFileSystem system;
    system.set({.call = Call::pwrite, .path_part = "journal"});
    auto data = create("data", system).value();
    auto journal = create("journal.1", system).value();
    EXPECT_TRUE(data.write_at(0, as_data("a")).has_value());
    EXPECT_FALSE(journal.write_at(0, as_data("a")).has_value());
}

TEST_F(TestingTest, AWriteThatFallsShortIsGoneOnWith) {
    FaultyFileSystem system;
    system.set({.call = Call::pwrite, .error = 0});
    auto file = create("f", system).value();
    EXPECT_TRUE(file.write_at(0, as_data("detector")).has_value());
    EXPECT_TRUE(system.fired());
    EXPECT_EQ(files(), (Files{{"f", "detector"}}));
}

TEST_F(TestingTest, WhatDoesNotGrowTheFileNeedsNoSpace) {
    FaultyFileSystem system;
    auto file = create("f", system).value();
    system.limit_space(4);
    const auto full = file.write_at(0, as_data("detector"));
    ASSERT_FALSE(full.has_value());
    EXPECT_EQ(full.error().os_errno, ENOSPC);
    EXPECT_EQ(files(), (Files{{"f", "dete"}}));
    EXPECT_TRUE(file.write_at(0, as_data("DETE")).has_value());
    system.clear();
    EXPECT_TRUE(file.write_at(0, as_data("detector")).has_value());
}

TEST_F(TestingTest, SpaceThatWasTakenBeforeIsThereAndComesBackWhenTheFileGoes) {
    FaultyFileSystem system;
    auto reserve = create("reserve", system).value();
    auto file = create("f", system).value();
    system.limit_space(10);
    ASSERT_TRUE(reserve.allocate(0, 8).has_value());
    EXPECT_EQ(free_space(directory_, system).value(), 2_B);
    EXPECT_FALSE(reserve.allocate(8, 3).has_value());
    EXPECT_EQ(free_space(directory_, system).value(), 2_B);
    EXPECT_TRUE(reserve.write_at(0, as_data("detector")).has_value());
    EXPECT_FALSE(file.write_at(0, as_data("event")).has_value());
    ASSERT_TRUE(reserve.truncate(5).has_value());
    EXPECT_TRUE(file.write_at(0, as_data("event")).has_value());
    ASSERT_TRUE(remove_file(directory_ / "reserve", system).has_value());
    EXPECT_EQ(free_space(directory_, system).value(), 5_B);
}

TEST_F(TestingTest, OfWhatWasNotSyncedNothingIsLeftAtWorstAndAllAtBest) {
    for (const auto kept : {Kept::nothing, Kept::everything}) {
        {
            auto file = create("f", disk_).value();
            ASSERT_TRUE(sync_directory(directory_, disk_).has_value());
            ASSERT_TRUE(file.write_at(0, as_data("synced")).has_value());
            ASSERT_TRUE(file.sync_data().has_value());
            ASSERT_TRUE(file.write_at(6, as_data(" and not")).has_value());
            auto new_one = create("new", disk_).value();
            ASSERT_TRUE(new_one.write_at(0, as_data("x")).has_value());
            ASSERT_TRUE(new_one.sync_data().has_value());  // the data; not the name
            disk_.crash();
            EXPECT_FALSE(file.write_at(0, as_data("late")).has_value());
        }
        disk_.restore(kept, 1);
        if (kept == Kept::nothing) EXPECT_EQ(files(), (Files{{"f", "synced"}}));
        else EXPECT_EQ(files(), (Files{{"f", "synced and not"}, {"new", "x"}}));
        std::filesystem::remove(directory_ / "f");
    }
}

TEST_F(TestingTest, ARenameMayBeKeptWithoutTheDataAndTheDataWithoutTheRename) {
    std::set<Files> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::ofstream(directory_ / "a") << "old";
        {
            auto file = File::open(directory_ / "a", File::Mode::read_write, disk_).value();
            ASSERT_TRUE(file.write_at(0, as_data("new")).has_value());
            ASSERT_TRUE(rename_new(directory_ / "a", directory_ / "b", disk_).has_value());
            disk_.crash();
        }
        disk_.restore(Kept::reordered, seed);
        seen.insert(files());
        for (const auto& [name, text] : files()) std::filesystem::remove(directory_ / name);
    }
    for (const char* name : {"a", "b"}) {
        for (const char* text : {"old", "new"}) EXPECT_TRUE(seen.contains(Files{{name, text}})) << name << text;
    }
}

TEST_F(TestingTest, WhatAFailedSyncShouldHaveWrittenIsLostAlsoAfterAGoodOne) {
    FaultyFileSystem system(disk_);
    system.on_failed_sync([&](int fd) { disk_.lose_unsynced(fd); });
    {
        auto file = create("f", system).value();
        ASSERT_TRUE(sync_directory(directory_, system).has_value());
        system.set({.call = Call::fdatasync});
        ASSERT_TRUE(file.write_at(0, as_data("lost")).has_value());
        EXPECT_FALSE(file.sync_data().has_value());
        EXPECT_TRUE(file.sync_data().has_value());
        EXPECT_EQ(files().at("f"), "lost");  // the cache still has it
        disk_.crash();
    }
    disk_.restore(Kept::everything, 1);
    EXPECT_EQ(files().at("f"), std::string(4, '\0'));
}

TEST_F(TestingTest, ATornWriteEndsAtASector) {
    const std::string text(2000, 'x');
    std::set<std::size_t> sizes;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        {
            auto file = create("f", disk_).value();
            ASSERT_TRUE(sync_directory(directory_, disk_).has_value());
            ASSERT_TRUE(file.write_at(0, as_data("12345")).has_value());
            ASSERT_TRUE(file.sync_data().has_value());
            disk_.crash_at(1);
            EXPECT_FALSE(file.write_at(5, as_data(text)).has_value());  // underway when the power fails
        }
        disk_.restore(Kept::torn, seed);
        sizes.insert(files().at("f").size());
        std::filesystem::remove(directory_ / "f");
    }
    EXPECT_EQ(sizes, (std::set<std::size_t>{5, 512, 1024, 1536, 2005}));
}

TEST_F(TestingTest, TheSameSeedLeavesTheSame) {
    std::set<Files> seen;
    for (int again = 0; again < 2; ++again) {
        {
            auto file = create("f", disk_).value();
            for (unsigned i = 0; i < 20; ++i) ASSERT_TRUE(file.write_at(i * 100, as_data("some event")).has_value());
            disk_.crash();
        }
        disk_.restore(Kept::reordered, 6);
        seen.insert(files());
        for (const auto& [name, text] : files()) std::filesystem::remove(directory_ / name);
    }
    EXPECT_EQ(seen.size(), 1U);
}

}  // namespace
}  // namespace weir::testing
