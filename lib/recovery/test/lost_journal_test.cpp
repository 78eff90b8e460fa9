// SPDX-License-Identifier: Apache-2.0
// Recovery where one of several journals is missing, and where the only one is.
#include "recovery_fixture.hpp"
#include "weir/base/testing/faulty_file_system.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/recovery/recovery.hpp"

namespace weir::recovery {
namespace {

using namespace std::chrono_literals;

/// Three journals as the writer makes them when each is full after two events; the recorder dies behind the last.
class SeveralJournals : public RecoveryTest {
protected:
    void SetUp() override {
        crash();
        const auto bytes = bytes_of(journal());
        const auto copies = all_of<datafile::StoredCopy>(bytes);
        ASSERT_EQ(copies.size(), events_sent);
        const auto session = all_of<datafile::SessionDeclared>(bytes).back();
        ASSERT_TRUE(std::filesystem::remove(journal()));
        const auto full = 2 * encoded(copies.back()).size();  // two copies fill a journal
        auto writer = datafile::JournalWriter::open(
                          directory_, [&](std::uint32_t) { return session; }, real_file_system(), full)
                          .value();
        writer.add(all_of<datafile::FileOpened>(bytes).back());
        for (std::size_t i = 0; i < copies.size(); i += 2) {
            writer.add(copies[i]);
            writer.add(copies[i + 1]);
            ASSERT_TRUE(writer.commit(true).has_value());
            ASSERT_TRUE(writer.roll().has_value());
        }
        ASSERT_EQ(datafile::JournalWriter::find(directory_).value().size(), 4U);  // the last is begun and empty
    }

    void expect_needed(std::uint32_t number, const std::string& because) const {
        const auto aside = directory_ / "aside";
        std::filesystem::remove_all(aside);
        std::filesystem::copy(directory_, aside);
        ASSERT_TRUE(std::filesystem::remove(datafile::JournalWriter::path_of(aside, number)));
        const auto result = recover_directory(aside, clock_).value();
        ASSERT_EQ(result.files.size(), 1U);
        EXPECT_EQ(result.files.front().closed.events, events_sent);
        EXPECT_TRUE(std::ranges::any_of(result.doubts, [&](const Error& doubt) {
            return doubt.message().contains(because);
        })) << because;
    }
};

TEST_F(SeveralJournals, AnyOneThatIsMissingCostsNoEventAndIsSaid) {
    expect_needed(1, "journal.000002 comes behind 2 events");
    expect_needed(2, "journal.000002 is missing");
    expect_needed(3, "journal.000003 is missing");
    expect_needed(4, "journal.000004 is missing");
    expect_all_kept();
}

TEST_F(SeveralJournals, TheLastMayBeThereWithoutBeingAnnounced) {
    auto third = bytes_of(journal(3));
    third.resize(third.size() - encoded(datafile::JournalContinues{4}).size());  // the crash came before it
    write(journal(3), third);
    expect_all_kept();
}

/// One open file of six events, without its journal.
class WithoutJournal : public RecoveryTest {
protected:
    void SetUp() override {
        options_.direct = recorder::DirectIo::off;
        crash();
        ASSERT_TRUE(std::filesystem::remove(journal()));
        for (const auto& [path, bytes] : open_files()) {
            if (!path.native().ends_with(".index.writing")) writing_ = path;
        }
        ASSERT_FALSE(writing_.empty());
    }
    /// The offset of its separator.
    std::uint64_t third_event() const {
        auto reader = datafile::RawFileReader::open(writing_).value();
        std::vector<std::byte> event;
        for (int n = 1; n <= 2; ++n) EXPECT_TRUE(reader.next(event).value());
        return reader.next(event).value()->offset;
    }
    std::vector<std::filesystem::path> rests() const {
        std::vector<std::filesystem::path> found;
        for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
            if (entry.path().native().contains(".cut-")) found.push_back(entry.path());
        }
        return found;
    }
    std::filesystem::path writing_;
};

TEST_F(WithoutJournal, AFileThatTheDiskCannotReadNowIsLeftAsItIs) {
    class OneBadBlock : public FileSystem {
    public:
        explicit OneBadBlock(std::uint64_t begin) : begin_(static_cast<off_t>(begin)) {}
        ssize_t pread(int fd, void* to, std::size_t size, off_t offset) override {
            if (offset > begin_) return errno = EIO, -1;  // the event itself
            return FileSystem::pread(fd, to, size, offset);
        }

    private:
        const off_t begin_;
    } bad(third_event());
    const auto before = open_files();
    const auto refused = recover_file_by_walking(writing_, clock_, bad);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().os_errno, EIO);
    EXPECT_NE(refused.error().message().find("stays as it is"), std::string::npos) << refused.error().message();
    EXPECT_EQ(open_files(), before);
    EXPECT_EQ(recover_file_by_walking(writing_, clock_)->closed.events, events_sent);  // the disk reads it again
    EXPECT_TRUE(rests().empty());
}

TEST_F(WithoutJournal, WhatIsCutBehindADamageIsKeptBesideTheFile) {
    auto bytes = bytes_of(writing_);
    while (bytes.back() == std::byte{0}) bytes.pop_back();  // space that was taken and not used
    const auto third = third_event();
    bytes[third] ^= std::byte{1};  // no separator any more
    write(writing_, bytes);
    const auto recovered = recover_file_by_walking(writing_, clock_).value();
    EXPECT_EQ(recovered.closed.events, 2U);
    ASSERT_TRUE(recovered.rest);
    EXPECT_EQ(rests(), std::vector{*recovered.rest});
    EXPECT_EQ(bytes_of(*recovered.rest), std::vector(bytes.begin() + static_cast<std::ptrdiff_t>(third), bytes.end()));
    EXPECT_TRUE(datafile::RawFileReader::open(recovered.path).has_value());
}

}  // namespace
}  // namespace weir::recovery
