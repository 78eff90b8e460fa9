// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <fstream>
#include <stop_token>
#include <thread>

#include "catalogue_fixture.hpp"

namespace weir::catalogue {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CatalogueOpen : public CatalogueTest {
protected:
    void raw(const char* statements) {
        sqlite3* handle = nullptr;
        ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
        ASSERT_EQ(sqlite3_exec(handle, statements, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
        sqlite3_close(handle);
    }
    std::string read() {
        std::ifstream in(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
};

TEST_F(CatalogueOpen, AMissingFileIsMadeOnlyWhenThatIsWanted) {
    SqliteCatalogueOptions options;
    options.create = false;
    const auto missing = open_sqlite_catalogue(path_, options);
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code, Errc::io);
    EXPECT_THAT(missing.error().message(), HasSubstr(path_.native()));
    EXPECT_FALSE(std::filesystem::exists(path_));
    open();
    EXPECT_TRUE(open_sqlite_catalogue(path_, options).has_value());
}

TEST_F(CatalogueOpen, ACatalogueInADirectoryThatIsMissingIsAnErrorWithItsName) {
    const auto opened = open_sqlite_catalogue(directory_ / "no" / "c.sqlite");
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().os_errno, ENOENT);
    EXPECT_FALSE(open_sqlite_catalogue("").has_value());
}

TEST_F(CatalogueOpen, AnOlderOrNewerSchemaIsRefusedAndLeftAlone) {
    open();
    raw("PRAGMA user_version = 2");
    const auto older = open_sqlite_catalogue(path_);
    ASSERT_FALSE(older.has_value());
    EXPECT_EQ(older.error().code, Errc::unsupported);
    EXPECT_THAT(older.error().context, AllOf(HasSubstr("schema version 2, older than version 3"),
                                             HasSubstr("can be rebuilt from the files"), HasSubstr(path_.native())));
    raw("PRAGMA user_version = 4");
    const auto newer = open_sqlite_catalogue(path_);
    ASSERT_FALSE(newer.has_value());
    EXPECT_EQ(newer.error().code, Errc::unsupported);
    EXPECT_THAT(newer.error().context, HasSubstr("newer program"));
}

TEST_F(CatalogueOpen, ADatabaseOfSomebodyElseIsNotTouched) {
    raw("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
    const auto before = read();
    const auto opened = open_sqlite_catalogue(path_);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Errc::corrupt);
    EXPECT_EQ(read(), before);
}

TEST_F(CatalogueOpen, BytesThatAreNoDatabaseAreDamageThatNamesTheFile) {
    std::ofstream(path_) << std::string(8192, 'x');
    const auto opened = open_sqlite_catalogue(path_);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Errc::corrupt);
    EXPECT_THAT(opened.error().context, AllOf(HasSubstr(path_.native()), HasSubstr("can be rebuilt from the files")));
}

TEST_F(CatalogueOpen, ADamagedPageIsFoundByCheck) {
    {
        auto catalogue = open();
        ASSERT_TRUE(catalogue->open_run(start(1)).has_value());
        for (std::uint32_t i = 1; i <= 50; ++i) ASSERT_TRUE(catalogue->file_opened(file_of(1, i)).has_value());
        ASSERT_TRUE(catalogue->check().has_value());
    }
    const auto size = std::filesystem::file_size(path_);
    ASSERT_GT(size, 5 * 4096U);
    {
        std::fstream out(path_, std::ios::in | std::ios::out | std::ios::binary);
        for (std::uint64_t page = 2; page * 4096 < size; ++page) {
            out.seekp(static_cast<std::streamoff>(page * 4096));
            out.write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
        }
    }
    const auto opened = open_sqlite_catalogue(path_);
    const auto checked = opened ? (*opened)->check() : Result<>(std::unexpected(opened.error()));
    ASSERT_FALSE(checked.has_value());
    EXPECT_EQ(checked.error().code, Errc::corrupt);
    EXPECT_THAT(checked.error().context, AllOf(HasSubstr(path_.native()), HasSubstr("can be rebuilt from the files")));
}

TEST_F(CatalogueOpen, AValueThatCannotBeIsDamageNotAMisreading) {
    auto catalogue = open();
    ASSERT_TRUE(catalogue->open_run(start(1)).has_value());
    ASSERT_TRUE(catalogue->file_opened(file_of(1)).has_value());
    for (const char* change :
         {"UPDATE files SET guid = 'no guid'", "UPDATE files SET sequence = -1", "UPDATE files SET first_event = '12'",
          "UPDATE files SET opened_us = 9223372036854775807"}) {
        raw(change);
        const auto files = catalogue->files();
        ASSERT_FALSE(files.has_value()) << change;
        EXPECT_EQ(files.error().code, Errc::corrupt) << change;
        EXPECT_EQ(code_of(catalogue->check()), Errc::corrupt) << change;
        raw("UPDATE files SET guid = '00000000-0000-0000-0000-000000000000', sequence = 1, first_event = NULL, "
            "opened_us = 1");
        ASSERT_TRUE(catalogue->files().has_value()) << change;
    }
}

TEST_F(CatalogueOpen, AStopEndsTheWaitForADatabaseThatOthersHold) {
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE writers (x); BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
    const ManualClock still;  // its deadline never comes
    SqliteCatalogueOptions options;
    options.busy_timeout = std::chrono::milliseconds{1};
    options.clock = &still;
    std::stop_source source;
    options.stop = source.get_token();
    std::jthread stops([&source] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        source.request_stop();
    });
    const auto opened = open_sqlite_catalogue(path_, options);
    ASSERT_FALSE(opened.has_value());
    EXPECT_TRUE(source.stop_requested());
    EXPECT_EQ(opened.error().os_errno, EBUSY);
    sqlite3_close(other);
}

TEST_F(CatalogueOpen, ALockThatIsHeldTooLongIsAnErrorThatSaysSo) {
    open();
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
    SqliteCatalogueOptions options;
    options.busy_timeout = std::chrono::milliseconds{20};
    auto catalogue = open_sqlite_catalogue(path_, options).value();
    ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    const auto opened = catalogue->open_run(start(1));
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().os_errno, EBUSY);
    EXPECT_THAT(opened.error().context, HasSubstr("locked by another process"));
    sqlite3_close(other);
    EXPECT_TRUE(catalogue->open_run(start(1)).has_value());
}

TEST_F(CatalogueOpen, AFileWhoseNameWasTakenAwayIsWrittenAgainWithAllThatItHolds) {
    for (const bool also_its_log : {false, true}) {
        SCOPED_TRACE(also_its_log);
        const auto catalogue = open();
        const RunStart start{.run = RunNumber{also_its_log ? 8U : 7U},
                             .recorder = "weir",
                             .mode = "receipt",
                             .relaxations = "",
                             .at = {}};
        ASSERT_TRUE(catalogue->open_run(start).has_value());
        EXPECT_FALSE(catalogue->restore_name().value());
        std::filesystem::remove(path_);
        if (also_its_log) {
            for (const auto* ending : {"-wal", "-shm"}) std::filesystem::remove(path_.native() + ending);
        }
        EXPECT_TRUE(catalogue->restore_name().value());
        EXPECT_FALSE(catalogue->restore_name().value());
        ASSERT_TRUE(catalogue->close_run(start.run, "weir", {}).has_value());
        const auto other = open();  // by its name
        const auto rows = other->runs(start.run).value();
        ASSERT_EQ(rows.size(), 1U);
        EXPECT_EQ(rows.front().state, OpenState::closed);
        EXPECT_TRUE(other->check().has_value());
    }
}

TEST_F(CatalogueOpen, AnotherFileUnderItsNameIsKept) {
    const auto catalogue = open();
    std::filesystem::rename(path_, path_.native() + ".away");
    std::ofstream(path_) << "of another program";
    EXPECT_TRUE(catalogue->restore_name().value());
    EXPECT_TRUE(open()->check().has_value());
    EXPECT_EQ(std::filesystem::file_size(path_.native() + ".foreign-1"), 18U);
}

}  // namespace
}  // namespace weir::catalogue
