// SPDX-License-Identifier: Apache-2.0
#include "sqlite/sqlite_database.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "weir/base/assert.hpp"
#include "weir/base/file.hpp"

namespace weir::catalogue::sql {
namespace {

constexpr int value_size_max = 16 << 20;  // of one value, so that a damaged file cannot ask for more memory

class SqliteCursor final : public Cursor {
public:
    SqliteCursor(const SqliteDatabase& database, sqlite3_stmt* statement)
        : database_(database), statement_(statement) {}

    Result<bool> next() override {
        const int code = sqlite3_step(statement_.get());
        if (code == SQLITE_ROW) return true;
        if (code == SQLITE_DONE) return false;
        return std::unexpected(database_.failure(code));
    }

    bool is_null(int column) const override { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

    std::optional<std::int64_t> integer(int column) const override {
        if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
        return sqlite3_column_int64(statement_.get(), column);
    }

    std::optional<std::string> text(int column) const override {
        if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return std::nullopt;
        const auto* data = sqlite3_column_text(statement_.get(), column);
        const int size = sqlite3_column_bytes(statement_.get(), column);
        if (data == nullptr || size < 0) return std::nullopt;
        return std::string(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }

    std::string column_name(int column) const override {
        const char* found = sqlite3_column_name(statement_.get(), column);
        return found != nullptr ? found : "?";
    }

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
    };
    const SqliteDatabase& database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::filesystem::path& path, bool create,
                                                             std::chrono::milliseconds busy_timeout) {
    // An absolute name, so that none of SQLite's special ones (":memory:", the empty one) is ever meant.
    std::error_code ec;
    const auto absolute = std::filesystem::absolute(path, ec);
    if (path.empty() || ec) return fail(Errc::usage, "the catalogue needs the name of a file");
    sqlite3* handle = nullptr;
    const int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (create ? SQLITE_OPEN_CREATE : 0);
    const int code = sqlite3_open_v2(absolute.c_str(), &handle, flags, nullptr);
    std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(path, handle, busy_timeout));
    if (code != SQLITE_OK) {
        const int os_errno = handle == nullptr ? ENOMEM : sqlite3_system_errno(handle);
        return std::unexpected(Error{Errc::io, os_errno, fmt::format("cannot open catalogue {}", path.native())});
    }
    if (sqlite3_db_readonly(handle, "main") == 1)
        return fail(Errc::refused, fmt::format("catalogue {} cannot be written; check owner and mode of the file and "
                                               "of its directory",
                                               path.native()));
    sqlite3_busy_timeout(handle, static_cast<int>(busy_timeout.count()));
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, value_size_max);
    // What stands in the file can neither call functions nor change its own structure behind our back.
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
    return database;
}

Result<Rows> SqliteDatabase::query(std::string_view statement, std::span<const Value> values) {
    sqlite3_stmt* raw = nullptr;
    int code = sqlite3_prepare_v2(handle_.get(), statement.data(), static_cast<int>(statement.size()), &raw, nullptr);
    if (code != SQLITE_OK) return std::unexpected(failure(code));
    Rows rows(*this, std::make_unique<SqliteCursor>(*this, raw));
    WEIR_ASSERT(sqlite3_bind_parameter_count(raw) == static_cast<int>(values.size()));
    int index = 0;
    for (const auto& value : values) {
        ++index;
        if (value.integer()) {
            code = sqlite3_bind_int64(raw, index, *value.integer());
        } else if (value.text()) {
            code = sqlite3_bind_text64(raw, index, value.text()->data(), value.text()->size(), SQLITE_TRANSIENT,
                                       SQLITE_UTF8);
        } else {
            code = sqlite3_bind_null(raw, index);
        }
        if (code != SQLITE_OK) return std::unexpected(failure(code));
    }
    return rows;
}

Result<std::int64_t> SqliteDatabase::execute(std::string_view statement, std::span<const Value> values) {
    auto rows = WEIR_TRY(query(statement, values));
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return sqlite3_changes64(handle_.get());
    }
}

Result<> SqliteDatabase::script(const char* statements) {
    const int code = sqlite3_exec(handle_.get(), statements, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return std::unexpected(failure(code));
    return {};
}

// In WAL mode NORMAL syncs at checkpoints only; the log keeps the order of the commits
// (sqlite.org/pragma.html#pragma_synchronous).
Result<> SqliteDatabase::sync_commits(bool sync) {
    auto set = script(sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    sync_is_due_ = sync && !set;
    return set;
}

Result<> SqliteDatabase::begin() {
    if (sync_is_due_) {
        WEIR_TRY(sync_commits(true));
    }
    WEIR_TRY(execute("BEGIN IMMEDIATE"));
    return {};
}

Result<> SqliteDatabase::commit() {
    WEIR_TRY(execute("COMMIT"));
    return {};
}

void SqliteDatabase::rollback() noexcept {
    // A failure to roll back has no consequence: SQLite has then done so itself, or does at the next opening.
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<> SqliteDatabase::check() {
    auto pages = WEIR_TRY(query("PRAGMA integrity_check(1)"));
    WEIR_TRY(pages.next());
    const auto verdict = pages.text(0);
    if (verdict != "ok") return std::unexpected(damaged(verdict));

    auto orphans = WEIR_TRY(query("PRAGMA foreign_key_check"));
    const auto orphan = WEIR_TRY(orphans.next());
    if (orphan) return std::unexpected(damaged(fmt::format("a row of {} belongs to nothing", orphans.text(0))));
    return {};
}

Result<bool> SqliteDatabase::restore_name() {
    int moved = 0;
    if (sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || moved == 0)
        return false;
    const auto with = [this](std::string_view ending) {
        return std::filesystem::path(path_.native() + std::string(ending));
    };
    const auto made = with(".new");
    std::error_code ec;
    std::filesystem::remove(made, ec);
    WEIR_TRY(execute("VACUUM INTO ?", std::initializer_list<Value>{Value(made.native())}));
    auto copy = WEIR_TRY(File::open(made, File::Mode::read_write));
    WEIR_TRY(copy.sync_data());
    WEIR_TRY(copy.close());
    for (int n = 1; std::filesystem::exists(path_, ec); ++n) {  // another file has the name now
        if (auto aside = rename_new(path_, with(fmt::format(".foreign-{}", n)));
            !aside && aside.error().os_errno != EEXIST)
            return std::unexpected(aside.error());
    }
    // They belong to the file that is gone, and must not be taken for ours.
    for (const auto* ending : {"-wal", "-shm"}) std::filesystem::remove(with(ending), ec);
    WEIR_TRY(rename_new(made, path_));
    WEIR_TRY(sync_directory(std::filesystem::absolute(path_, ec).parent_path()));
    auto again = WEIR_TRY(open(path_, false, busy_timeout_));
    WEIR_TRY(again->script("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON"));
    handle_ = std::move(again->handle_);  // SQLite does not touch the files when it closes one that has no name
    return true;
}

Error SqliteDatabase::failure(int code) const {
    const char* reason = sqlite3_errmsg(handle_.get());
    switch (code & 0xff) {
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_FORMAT: return damaged(reason);
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {Errc::io, EBUSY,
                    fmt::format("catalogue {} is locked by another process for longer than {}; find the one that hangs",
                                path_.native(), to_string(std::chrono::nanoseconds{busy_timeout_}))};
        case SQLITE_FULL: return {Errc::io, ENOSPC, fmt::format("cannot write catalogue {}", path_.native())};
        case SQLITE_IOERR:
            return {Errc::io, sqlite3_system_errno(handle_.get()),
                    fmt::format("cannot read or write catalogue {} ({})", path_.native(), reason)};
        case SQLITE_CONSTRAINT:
            if (code == SQLITE_CONSTRAINT_FOREIGNKEY)
                return {
                    Errc::refused, 0,
                    fmt::format("catalogue {} has no such run at this recorder; open the run first", path_.native())};
            return {Errc::refused, 0, fmt::format("catalogue {} refused a row ({})", path_.native(), reason)};
        case SQLITE_TOOBIG:
            return {Errc::limit, 0,
                    fmt::format("a value in catalogue {} is larger than {} bytes", path_.native(), value_size_max)};
        default: return {Errc::io, 0, fmt::format("catalogue {} failed: {}", path_.native(), reason)};
    }
}

}  // namespace weir::catalogue::sql
