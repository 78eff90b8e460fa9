// SPDX-License-Identifier: Apache-2.0
// SQLite behind sql::Database: a file, written ahead and synced at every commit.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <filesystem>

#include "sql/sql.hpp"

namespace weir::catalogue::sql {

class SqliteDatabase final : public Database {
public:
    [[nodiscard]] static Result<std::unique_ptr<SqliteDatabase>> open(const std::filesystem::path& path, bool create,
                                                                      std::chrono::milliseconds busy_timeout);

    using Database::execute;
    using Database::query;
    Result<Rows> query(std::string_view statement, std::span<const Value> values) override;
    Result<std::int64_t> execute(std::string_view statement, std::span<const Value> values) override;
    Result<> script(const char* statements) override;
    Result<> sync_commits(bool sync) override;
    Result<> begin() override;  // takes the write lock at once
    Result<> commit() override;
    void rollback() noexcept override;
    bool connected() const noexcept override { return true; }
    bool commit_may_be_unknown() const noexcept override { return false; }
    bool worth_repeating() const noexcept override { return false; }
    Result<> check() override;
    Result<bool> restore_name() override;
    const std::string& name() const noexcept override { return path_.native(); }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// SQLite's error of the call that just failed, in our words.
    [[nodiscard]] Error failure(int code) const;

private:
    struct Close {
        void operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }
    };
    SqliteDatabase(std::filesystem::path path, sqlite3* handle, std::chrono::milliseconds busy_timeout)
        : path_(std::move(path)), handle_(handle), busy_timeout_(busy_timeout) {}

    std::filesystem::path path_;
    std::unique_ptr<sqlite3, Close> handle_;
    bool sync_is_due_ = false;  // sync_commits(true) has failed
    std::chrono::milliseconds busy_timeout_;
};

}  // namespace weir::catalogue::sql
