// SPDX-License-Identifier: Apache-2.0
#include "weir/recovery/verification.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "weir/base/endian.hpp"
#include "weir/datafile/checksum_attribute.hpp"
#include "weir/datafile/index_writer.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recovery {
namespace {

using namespace std::chrono_literals;

class VerificationTest : public testing::RecordingFixture {
protected:
    /// One file of three small events, recorded for real.
    std::filesystem::path record_one() {
        record();
        return data_files().at(0);
    }
    void record() {
        auto recorder = start();
        auto sender = connect(*recorder);
        for (std::uint64_t id = 1; id <= 3; ++id)
            EXPECT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 400))
                            .has_value());
        EXPECT_TRUE(sender->flush(60s).value());
        EXPECT_TRUE(recorder->stop(60s).has_value());
    }

    static void flip(const std::filesystem::path& path, std::uint64_t offset) {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(offset));
        const char byte = static_cast<char>(file.get() ^ 0x10);
        file.seekp(static_cast<std::streamoff>(offset));
        file.put(byte);
    }

    static void replace_index(const std::filesystem::path& path, const datafile::StoredIndex& index) {
        std::filesystem::remove(datafile::index_path_of(path));
        auto writer = datafile::IndexWriter::create(path.parent_path(), index.opened,
                                                    [&](std::uint32_t session) { return index.sessions.at(session); });
        ASSERT_TRUE(writer.has_value());
        for (const auto& copy : index.copies) writer->add(copy);
        ASSERT_TRUE(writer->close(index.closed).has_value());
    }

    static std::string reasons(const std::filesystem::path& path) {
        std::string text;
        for (const auto& damage : verify_file(path, nullptr, {}).damages) text += damage.reason + "; ";
        return text;
    }
};

TEST_F(VerificationTest, AFlippedByteAnywhereInAFileIsNamedByEventAndOffset) {
    const auto path = record_one();
    const auto index = datafile::StoredIndex::read(datafile::index_path_of(path)).value();
    const auto size = std::filesystem::file_size(path);
    for (std::uint64_t offset = 0; offset < size; offset += offset < 2000 ? 1 : 7) {
        flip(path, offset);
        const auto result = verify_file(path, nullptr, {});
        flip(path, offset);
        ASSERT_FALSE(result.damages.empty()) << "offset " << offset;
        std::optional<std::uint64_t> inside;
        for (std::size_t i = 0; i < index.copies.size(); ++i) {
            const auto begin = index.copies[i].offset;
            if (offset >= begin && offset < begin + 16 + index.copies[i].length) inside = i + 1;
        }
        ASSERT_EQ(result.damages.front().event, inside) << "offset " << offset;
        ASSERT_LE(result.damages.front().offset, offset);
    }
    EXPECT_TRUE(verify_file(path, nullptr, {}).damages.empty());
}

TEST_F(VerificationTest, AFlippedByteAnywhereInAnIndexIsDamage) {
    const auto path = record_one();
    const auto index = datafile::index_path_of(path);
    const auto size = std::filesystem::file_size(index);
    for (std::uint64_t offset = 0; offset < size; offset += 3) {
        flip(index, offset);
        const auto result = verify_file(path, nullptr, {});
        flip(index, offset);
        ASSERT_FALSE(result.damages.empty()) << "offset " << offset;
    }
}

TEST_F(VerificationTest, ATruncatedFileIsDamagedAndItsFirstEventsAreStillProven) {
    const auto path = record_one();
    const auto index = datafile::StoredIndex::read(datafile::index_path_of(path)).value();
    std::filesystem::resize_file(path, index.copies[2].offset + 20);
    const auto result = verify_file(path, nullptr, {});
    EXPECT_EQ(result.events, 2U);
    ASSERT_FALSE(result.damages.empty());
    EXPECT_FALSE(result.adler32.has_value());
}

TEST_F(VerificationTest, OneDamagedEventDoesNotHideTheNext) {
    const auto path = record_one();
    const auto index = datafile::StoredIndex::read(datafile::index_path_of(path)).value();
    flip(path, index.copies[0].offset + 4);    // a separator
    flip(path, index.copies[2].offset + 200);  // an event's bytes
    const auto result = verify_file(path, nullptr, {});
    std::vector<std::optional<std::uint64_t>> events;
    for (const auto& damage : result.damages) events.push_back(damage.event);
    EXPECT_NE(std::ranges::find(events, std::optional<std::uint64_t>(1)), events.end());
    EXPECT_NE(std::ranges::find(events, std::optional<std::uint64_t>(3)), events.end());
    EXPECT_EQ(std::ranges::find(events, std::optional<std::uint64_t>(2)), events.end());
}

TEST_F(VerificationTest, AnyNumberOfBadlyMadeEventsLeavesRoomForADamage) {
    {
        auto recorder = start();
        auto sender = connect(*recorder);
        for (std::uint64_t id = 1; id <= 4; ++id) {
            auto bytes = event(id, 400);
            bytes[4 * load_little<std::uint32_t>(bytes, 8)] ^= std::byte{1};  // its first fragment's marker
            ASSERT_TRUE(
                sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, bytes).has_value());
        }
        ASSERT_TRUE(sender->flush(60s).value());
        ASSERT_TRUE(recorder->stop(60s).has_value());
    }
    const auto path = data_files().at(0);
    const auto index = datafile::StoredIndex::read(datafile::index_path_of(path)).value();
    flip(path, index.copies[3].offset + 4);  // the last separator
    VerificationOptions options;
    options.damages_max = 2;
    const auto result = verify_file(path, nullptr, options);
    const auto as_received =
        std::ranges::count_if(result.damages, [](const Damage& damage) { return damage.as_received; });
    EXPECT_EQ(as_received, 2);
    const auto damaged = std::ranges::find_if(result.damages, [](const Damage& damage) { return !damage.as_received; });
    ASSERT_NE(damaged, result.damages.end());
    EXPECT_EQ(damaged->event, 4U);
}

TEST_F(VerificationTest, WithoutIndexTheStructureIsChecked) {
    const auto path = record_one();
    std::filesystem::remove(datafile::index_path_of(path));
    EXPECT_TRUE(verify_file(path, nullptr, {}).damages.empty());
    const auto rows = catalogue()->files().value();
    EXPECT_FALSE(verify_file(path, &rows.at(0), {}).damages.empty());  // the catalogue knows that one was there
}

TEST_F(VerificationTest, AnAttributeIsHeldAgainstTheFileAlsoWhenTheFileWasModifiedSince) {
    const auto path = record_one();
    std::filesystem::remove(datafile::index_path_of(path));
    auto file = File::open(path, File::Mode::read_write).value();
    const auto sum = verify_file(path, nullptr, {}).adler32.value();
    const auto written = datafile::write_adler32_attribute(file, sum + 1, SystemClock().wall());
    if (!written && written.error().code == Errc::unsupported)
        GTEST_SKIP()
            << "NOT TESTED: a checksum attribute beside a modified file; set TMPDIR to a file system with user "
               "attributes: "
            << written.error().message();
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + 1h);
    const auto result = verify_file(path, nullptr, {});
    ASSERT_EQ(result.damages.size(), 1U);
    EXPECT_NE(result.damages[0].reason.find("before the file was last modified"), std::string::npos)
        << result.damages[0].reason;
}

TEST_F(VerificationTest, AWrongBlockNumberInAFileThatCountsAloneIsDamage) {
    options_.directories = {directory_ / "a", directory_ / "b"};
    options_.files_per_stream = 2;
    record();
    const auto row = catalogue()->files().value().at(0);
    const auto path = std::filesystem::path(row.volume) / row.name;
    const auto index = datafile::StoredIndex::read(datafile::index_path_of(path)).value();
    ASSERT_TRUE(index.opened.counts_alone);
    EXPECT_EQ(reasons(path), "");

    flip(path, index.copies.front().offset + 8);  // in its separator
    EXPECT_TRUE(reasons(path).contains("the data separator")) << reasons(path);
    auto changed = index;
    changed.copies.front().block_number ^= 0x10;  // as in the file now
    replace_index(path, changed);
    EXPECT_TRUE(reasons(path).contains("data block number 17 does not follow 0")) << reasons(path);

    changed = index;  // numbers that run on, where they should begin anew
    changed.opened.blocks_before = 5;
    for (auto& copy : changed.copies) copy.block_number += 5;
    replace_index(path, changed);
    EXPECT_TRUE(reasons(path).contains("begin after 5 where they count within the file")) << reasons(path);
}

TEST_F(VerificationTest, AnEventThatIsInTwoFilesIsDamage) {
    const auto path = record_one();
    auto duplicate = path.native();
    duplicate.replace(duplicate.rfind("_0001."), 6, "_0002.");
    std::filesystem::copy_file(path, duplicate);
    std::filesystem::copy_file(datafile::index_path_of(path), datafile::index_path_of(duplicate));
    const std::vector<FileToVerify> files{{path, {}}, {duplicate, {}}};
    const auto report = verify_files(files, {});
    ASSERT_EQ(report.damages.size(), 1U);
    EXPECT_EQ(report.damages[0].path, duplicate);
    EXPECT_EQ(report.damages[0].event, 1U);
    EXPECT_NE(report.damages[0].reason.find("stored a second time; so are 3"), std::string::npos)
        << report.damages[0].reason;
}

TEST_F(VerificationTest, AFileThatIsNotARawFileIsNamed) {
    std::ofstream(directory_ / "x.data") << "hello";
    const auto result = verify_file(directory_ / "x.data", nullptr, {});
    ASSERT_EQ(result.damages.size(), 1U);
    EXPECT_NE(result.damages[0].reason.find("not a raw file"), std::string::npos) << result.damages[0].reason;
}

}  // namespace
}  // namespace weir::recovery
