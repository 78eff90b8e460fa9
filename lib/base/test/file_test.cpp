// SPDX-License-Identifier: Apache-2.0
#include "weir/base/file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace weir {
namespace {

class FileTest : public ::testing::Test {
protected:
    FileTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-file-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
    }
    ~FileTest() override { std::filesystem::remove_all(directory_); }
    std::filesystem::path directory_;
};

/// Takes one byte a call, and is interrupted before each.
class Stuttering : public FileSystem {
public:
    ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) override {
        if ((calls_++ & 1) == 0) return errno = EINTR, -1;
        return FileSystem::pwrite(fd, from, std::min<std::size_t>(size, 1), offset);
    }
    ssize_t pread(int fd, void* to, std::size_t size, off_t offset) override {
        if ((calls_++ & 1) == 0) return errno = EINTR, -1;
        return FileSystem::pread(fd, to, std::min<std::size_t>(size, 1), offset);
    }

private:
    unsigned calls_ = 0;
};

class SyncFails : public FileSystem {
public:
    int fdatasync(int) override { return errno = EIO, -1; }
};

TEST_F(FileTest, ShortAndInterruptedCallsLoseNothing) {
    Stuttering system;
    auto file = File::open(directory_ / "f", File::Mode::create_new, system);
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(file->write_at(0, as_data("detector event")).has_value());
    std::string back(14, '\0');
    ASSERT_TRUE(file->read_at(0, std::as_writable_bytes(std::span(back.data(), back.size()))).has_value());
    EXPECT_EQ(back, "detector event");
}

TEST_F(FileTest, ReadingPastTheEndIsTruncatedAndSaysWhere) {
    std::ofstream(directory_ / "f") << "abc";
    const auto file = File::open(directory_ / "f", File::Mode::read);
    std::array<std::byte, 8> buffer{};
    const auto result = file->read_at(1, buffer);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, Errc::truncated);
    EXPECT_NE(result.error().context.find("offset 3"), std::string::npos) << result.error().context;
}

TEST_F(FileTest, AnExistingFileIsNeverCreatedAgain) {
    std::ofstream(directory_ / "f") << "abc";
    const auto file = File::open(directory_ / "f", File::Mode::create_new);
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().os_errno, EEXIST);
}

TEST_F(FileTest, RenamingNeverOverwrites) {
    std::ofstream(directory_ / "a") << "a";
    std::ofstream(directory_ / "b") << "b";
    const auto result = rename_new(directory_ / "a", directory_ / "b");
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().os_errno, EEXIST);
    EXPECT_EQ(read_text(directory_ / "b", 10_B).value(), "b");
}

TEST_F(FileTest, ATextTakesThePlaceOfAnotherOne) {
    for (const auto synced : {Synced::no, Synced::yes}) {
        ASSERT_TRUE(replace_text(directory_ / "t", "a long text of before", synced));
        ASSERT_TRUE(replace_text(directory_ / "t", "new", synced));
        EXPECT_EQ(read_text(directory_ / "t", 100_B).value(), "new");
        EXPECT_FALSE(std::filesystem::exists(directory_ / "t.new"));
    }
}

TEST_F(FileTest, ATextThatCannotBeWrittenLeavesTheOldOne) {
    ASSERT_TRUE(replace_text(directory_ / "t", "old", Synced::yes));
    SyncFails system;
    EXPECT_EQ(replace_text(directory_ / "t", "new", Synced::yes, system).error().os_errno, EIO);
    EXPECT_EQ(read_text(directory_ / "t", 100_B).value(), "old");
    EXPECT_FALSE(replace_text(directory_ / "absent" / "t", "new", Synced::no));
}

TEST_F(FileTest, AFailedSyncIsReportedWithFileAndReason) {
    SyncFails system;
    auto file = File::open(directory_ / "f", File::Mode::create_new, system);
    const auto result = file->sync_data();
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().os_errno, EIO);
    EXPECT_NE(result.error().message().find("Input/output error"), std::string::npos);
}

TEST_F(FileTest, ADiskWithoutSpaceSaysSoWhenSpaceIsTaken) {
    class Full : public FileSystem {
    public:
        int fallocate(int, int, off_t, off_t) override { return errno = ENOSPC, -1; }
        int statvfs(const char* path, struct ::statvfs* status) override {
            const int got = FileSystem::statvfs(path, status);
            status->f_bavail = 3;
            status->f_frsize = 4096;
            return got;
        }
    } system;
    auto file = File::open(directory_ / "f", File::Mode::create_new, system);
    const auto taken = file->allocate(0, 1U << 20);
    ASSERT_FALSE(taken.has_value());
    EXPECT_EQ(taken.error().os_errno, ENOSPC);
    EXPECT_EQ(free_space(directory_, system).value(), 12_KiB);
    EXPECT_FALSE(free_space(directory_ / "none").has_value());
}

TEST_F(FileTest, AFileOfTheKernelIsReadAlthoughItSaysThatItIsEmpty) {
    EXPECT_EQ(read_text("/proc/sys/kernel/ostype", 64_B).value(), "Linux\n");
    EXPECT_EQ(read_text("/proc/sys/kernel/ostype", 5_B).error().code, Errc::limit);
}

TEST_F(FileTest, ATextLargerThanItsLimitIsNotRead) {
    std::ofstream(directory_ / "f") << "0123456789";
    const auto result = read_text(directory_ / "f", 9_B);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, Errc::limit);
}

}  // namespace
}  // namespace weir
