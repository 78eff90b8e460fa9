// SPDX-License-Identifier: Apache-2.0
// The little of SQL that the catalogue needs, with our errors: a database, a statement whose columns are
// checked while they are read, a transaction. SQLite and PostgreSQL stand behind it, with the same
// statements: what the two do not share (types, pragmas, locks) stays in their own files.
// Values are always bound, never pasted into the text of a statement; a `?` stands for each.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weir/base/clock.hpp"
#include "weir/base/guid.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::catalogue::sql {

/// One bound value: an integer, a text, or NULL. Integers are 64-bit signed in SQL; what may be larger
/// is checked by the caller (`fits`) or bound as text (event ids).
class Value {
public:
    Value(std::nullptr_t) {}
    Value(std::int64_t value) : integer_(value) {}
    Value(std::uint32_t value) : integer_(value) {}
    Value(std::uint64_t value) : integer_(static_cast<std::int64_t>(value)) {}
    Value(RunNumber run) : integer_(number(run)) {}
    Value(LumiBlock block) : integer_(number(block)) {}
    Value(std::string_view text) : text_(text) {}
    Value(const char* text) : text_(text) {}
    Value(const std::string& text) : text_(text) {}
    Value(const Guid& guid) : text_(to_string(guid)) {}
    Value(WallTime time);  // microseconds since 1970
    Value(const std::optional<WallTime>& time);
    Value(const std::optional<GlobalEventId>& id);  // 16 hex digits: sorts like the number

    [[nodiscard]] const std::optional<std::int64_t>& integer() const noexcept { return integer_; }
    [[nodiscard]] const std::optional<std::string>& text() const noexcept { return text_; }

private:
    std::optional<std::int64_t> integer_;
    std::optional<std::string> text_;
};

[[nodiscard]] constexpr bool fits(std::uint64_t value) noexcept { return value <= INT64_MAX; }

class Database;

/// The rows of one answer, as its database hands them over.
class Cursor {
public:
    virtual ~Cursor() = default;
    /// True: there is a row to read. False: there are no more.
    [[nodiscard]] virtual Result<bool> next() = 0;
    [[nodiscard]] virtual bool is_null(int column) const = 0;
    /// Nothing when the column holds something else.
    [[nodiscard]] virtual std::optional<std::int64_t> integer(int column) const = 0;
    [[nodiscard]] virtual std::optional<std::string> text(int column) const = 0;
    [[nodiscard]] virtual std::string column_name(int column) const = 0;
};

/// The rows of an answer. A column that does not hold what it should makes the row bad; row_ok() names it.
class Rows {
public:
    Rows(const Database& database, std::unique_ptr<Cursor> cursor) : database_(&database), cursor_(std::move(cursor)) {}

    /// True: there is a row to read. False: there are no more.
    [[nodiscard]] Result<bool> next();

    [[nodiscard]] std::string text(int column);
    [[nodiscard]] std::int64_t i64(int column);
    [[nodiscard]] std::uint64_t u64(int column);  // 0 to 2^63-1
    [[nodiscard]] std::uint32_t u32(int column);
    [[nodiscard]] WallTime time(int column);
    [[nodiscard]] std::optional<WallTime> optional_time(int column);
    [[nodiscard]] std::optional<GlobalEventId> optional_event(int column);
    [[nodiscard]] Guid guid(int column);
    [[nodiscard]] RunNumber run(int column) { return RunNumber{u32(column)}; }
    [[nodiscard]] bool is_null(int column) const { return cursor_->is_null(column); }

    /// A word of an enumeration.
    template <class Enum>
    [[nodiscard]] Enum word(int column, std::optional<Enum> (*parse)(std::string_view) noexcept) {
        const auto value = parse(text(column));
        if (!value) spoil(column);
        return value.value_or(Enum{});
    }

    /// After a row was read: Errc::corrupt when one of its columns was bad.
    [[nodiscard]] Result<> row_ok() const;

private:
    void spoil(int column) { bad_column_ = cursor_->column_name(column); }

    const Database* database_;
    std::unique_ptr<Cursor> cursor_;
    std::string bad_column_;  // empty: none
};

/// An open database; used by one thread at a time.
class Database {
public:
    virtual ~Database() = default;

    /// Rows are read with next(). The database must outlive them.
    [[nodiscard]] virtual Result<Rows> query(std::string_view statement, std::span<const Value> values) = 0;
    [[nodiscard]] Result<Rows> query(std::string_view statement, std::initializer_list<Value> values = {}) {
        return query(statement, std::span(values.begin(), values.size()));
    }

    /// Runs a statement without an answer; how many rows it changed.
    [[nodiscard]] virtual Result<std::int64_t> execute(std::string_view statement, std::span<const Value> values) = 0;
    [[nodiscard]] Result<std::int64_t> execute(std::string_view statement, std::initializer_list<Value> values = {}) {
        return execute(statement, std::span(values.begin(), values.size()));
    }

    /// Runs several statements that are our own text.
    [[nodiscard]] virtual Result<> script(const char* statements) = 0;

    /// The first column of the first row as a number, or nothing when there is no row or it is NULL.
    [[nodiscard]] Result<std::optional<std::uint64_t>> number_of(std::string_view statement,
                                                                 std::initializer_list<Value> values = {});

    /// Begins to write: until commit() or rollback() no other connection writes, so that what is read cannot change.
    [[nodiscard]] virtual Result<> begin() = 0;
    /// On stable storage when it returns without an error, unless sync_commits(false) was called.
    [[nodiscard]] virtual Result<> commit() = 0;
    virtual void rollback() noexcept = 0;

    /// Outside of a transaction. False: a power cut may take the last commits back, the newest first; the next one that
    /// is synced brings those before it to stable storage too. A database may sync all of them all the same.
    [[nodiscard]] virtual Result<> sync_commits(bool) { return {}; }

    /// Whether the next call finds a connection, as far as is known.
    [[nodiscard]] virtual bool connected() const noexcept = 0;

    /// Whether a commit may have happened although it failed, so that it has to be asked afterwards.
    [[nodiscard]] virtual bool commit_may_be_unknown() const noexcept = 0;
    /// Whether the call that just failed may succeed in a new transaction at once.
    [[nodiscard]] virtual bool worth_repeating() const noexcept = 0;

    /// The check of its soundness that the database itself offers.
    [[nodiscard]] virtual Result<> check() = 0;
    /// As Catalogue::restore_name(); outside of transactions.
    [[nodiscard]] virtual Result<bool> restore_name() { return false; }

    /// For messages: a path, or a place without its password.
    [[nodiscard]] virtual const std::string& name() const noexcept = 0;

    /// The contents contradict themselves.
    [[nodiscard]] Error damaged(std::string_view what) const;
};

/// A transaction that rolls back unless it was committed.
class Transaction {
public:
    [[nodiscard]] static Result<Transaction> begin(Database& database);
    Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();

    [[nodiscard]] Result<> commit();

private:
    explicit Transaction(Database& database) : database_(&database) {}
    Database* database_;
};

}  // namespace weir::catalogue::sql
