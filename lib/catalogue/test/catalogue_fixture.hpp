// SPDX-License-Identifier: Apache-2.0
// A catalogue of its own for each test, and rows to put into it. The same tests are compiled twice: for
// SQLite, a file in a temporary directory, and for PostgreSQL, a schema of the cluster in postgres_cluster.hpp,
// where they run once more (--queued) for a file whose changes are carried there.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "weir/catalogue/sqlite_catalogue.hpp"

#ifdef WEIR_TEST_POSTGRES
#include "postgres_cluster.hpp"
#include "queued/queued_catalogue.hpp"
#endif

namespace weir::catalogue {

/// The value itself: a reference into the Result would not outlive a range-for over it.
template <class T>
T good(Result<T> result) {
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return std::move(result.value());
}

/// Nothing when it succeeded.
template <class T>
std::optional<Errc> code_of(const Result<T>& result) {
    if (result) return std::nullopt;
    return result.error().code;
}

class CatalogueTest : public ::testing::Test {
protected:
    CatalogueTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-catalogue-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
        path_ = directory_ / "catalogue.sqlite";
#ifdef WEIR_TEST_POSTGRES
        uri_ = the_cluster().uri(the_cluster().new_schema());
#endif
    }
    ~CatalogueTest() override { std::filesystem::remove_all(directory_); }

    Result<std::unique_ptr<Catalogue>> try_to_open(std::size_t rows_max = 1000) const {
#ifdef WEIR_TEST_POSTGRES
        PostgresCatalogueOptions options;
        options.rows_max = rows_max;
        if (test_queued()) return open_queued_catalogue(path_, uri_, {.shared = options, .report = {}});
        return open_postgres_catalogue(uri_, options);
#else
        SqliteCatalogueOptions options;
        options.rows_max = rows_max;
        options.busy_timeout = std::chrono::seconds{60};  // several write at once, however slow the disk is
        return open_sqlite_catalogue(path_, options);
#endif
    }

    std::unique_ptr<Catalogue> open() const {
        auto opened = try_to_open();
        EXPECT_TRUE(opened.has_value()) << opened.error().message();
        return std::move(opened.value());
    }

    static constexpr WallTime time_of(std::int64_t seconds) {
        return WallTime{std::chrono::seconds{1'700'000'000 + seconds}};
    }

    static RunStart start(std::uint32_t run, std::string recorder = "recorder-1") {
        return {RunNumber{run}, std::move(recorder), "receipt", "", time_of(0), false};
    }

    static FileRow file_of(std::uint32_t run, std::uint32_t sequence = 1, std::string recorder = "recorder-1") {
        FileRow file;
        file.guid = Guid::random();
        file.volume = "/data/1";
        file.name = "test." + std::to_string(run) + "." + recorder + "._" + std::to_string(sequence) + ".data.writing";
        file.run = RunNumber{run};
        file.recorder = std::move(recorder);
        file.stream_type = "physics";
        file.stream_name = "Main";
        file.lumi_block = LumiBlock{7};
        file.sequence = sequence;
        file.format = "raw-6";
        file.opened = time_of(1);
        return file;
    }

    static FileClose close_of(const FileRow& file) {
        FileClose close;
        close.guid = file.guid;
        close.volume = file.volume;
        close.name = file.name.substr(0, file.name.rfind(".writing"));
        close.events = 3;
        close.bytes = 4'000'000'000;
        close.event_bytes = 3'999'999'000;
        close.first_event = GlobalEventId{5};
        close.last_event = GlobalEventId{0xffff'ffff'ffff'fff0};
        close.sums = {{"crc32c", "0BADCAFE"}, {"adler32", "abc"}};
        close.at = time_of(60);
        return close;
    }

    static SessionMark mark_of(std::uint32_t run, std::uint32_t connection, std::string durable) {
        return {"recorder-1", RunNumber{run}, "sender-a", "5f1c", connection, std::move(durable)};
    }

    static LedgerRow ledger_of(std::uint32_t run, std::uint64_t received, std::uint64_t stored,
                               std::map<std::string, std::uint64_t> rejected = {}) {
        return {RunNumber{run}, "recorder-1", "physics", "Main", received, stored, std::move(rejected)};
    }

    std::filesystem::path directory_;
    std::filesystem::path path_;  // of SQLite's file
    std::string uri_;             // of the schema in PostgreSQL; empty when that is not tested
};

}  // namespace weir::catalogue
