// SPDX-License-Identifier: Apache-2.0
// PostgreSQL behind sql::Database, by libpq. Calls do not wait for ever: the server has a time limit for each
// statement, and should the server itself hang, the connection is closed a little later.
//
// Writers meet at one lock of the database (begin), as they do at SQLite's: a change of the catalogue is rare
// and short, and what it has read cannot change before it writes. The lock goes with its holder's connection,
// also when the holder was stopped or its machine has vanished.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "postgres/libpq.hpp"
#include "sql/sql.hpp"
#include "weir/catalogue/postgres_catalogue.hpp"

namespace weir::catalogue::sql {

class PostgresDatabase final : public Database {
public:
    /// Connects. Errc::usage: `uri` is none.
    [[nodiscard]] static Result<std::unique_ptr<PostgresDatabase>> open(const std::string& uri,
                                                                        const PostgresCatalogueOptions& options);

    using Database::execute;
    using Database::query;
    Result<Rows> query(std::string_view statement, std::span<const Value> values) override;
    Result<std::int64_t> execute(std::string_view statement, std::span<const Value> values) override;
    Result<> script(const char* statements) override;
    Result<> begin() override;
    /// Begins without the lock, which needs our tables: to create them.
    [[nodiscard]] Result<> begin_creating();
    Result<> commit() override;
    void rollback() noexcept override;
    bool connected() const noexcept override { return connection_ != nullptr; }
    bool commit_may_be_unknown() const noexcept override { return true; }
    bool worth_repeating() const noexcept override { return worth_repeating_; }
    Result<> check() override { return {}; }  // the server keeps its own constraints and checksums
    const std::string& name() const noexcept override { return name_; }

private:
    struct Finish {
        void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
    };
    struct Clear {
        void operator()(PGresult* result) const noexcept { PQclear(result); }
    };
    using Answer = std::unique_ptr<PGresult, Clear>;

    PostgresDatabase(std::vector<std::pair<std::string, std::string>> parameters, std::string name,
                     const PostgresCatalogueOptions& options)
        : parameters_(std::move(parameters)), name_(std::move(name)), options_(options) {}

    [[nodiscard]] Result<> connect();
    [[nodiscard]] Result<Answer> ask(std::string_view statement, std::span<const Value> values);
    [[nodiscard]] Result<Answer> ask_once(const std::function<int(PGconn*)>& send);
    [[nodiscard]] Result<Answer> answer_of(const std::function<int(PGconn*)>& send);
    [[nodiscard]] Result<> await(bool writing, SteadyTime deadline);
    [[nodiscard]] Result<> begin_with(const char* statements);
    [[nodiscard]] Error failure(const PGresult* result);
    [[nodiscard]] Error lost(std::string_view why);
    friend class PostgresCursor;

    const std::vector<std::pair<std::string, std::string>> parameters_;
    const std::string name_;
    const PostgresCatalogueOptions options_;
    std::unique_ptr<PGconn, Finish> connection_;  // none: it was lost
    bool in_transaction_ = false;
    bool worth_repeating_ = false;
};

}  // namespace weir::catalogue::sql
