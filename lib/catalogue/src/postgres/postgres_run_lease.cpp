// SPDX-License-Identifier: Apache-2.0
// Each call is one statement, which checks by itself who has the lease: there is no transaction that a run control
// could stop in. A statement that is sent twice, as its connection was lost in between, does the same again.
#include <utility>

#include "postgres/postgres_database.hpp"
#include "weir/catalogue/run_lease.hpp"

namespace weir::catalogue {
namespace {

using namespace std::chrono_literals;

constexpr const char* lease_tables = R"sql(
CREATE TABLE IF NOT EXISTS weir_run_leases (
    partition TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    heard TIMESTAMPTZ NOT NULL,
    ended BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS weir_run_documents (
    partition TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, name)
);
)sql";

class PostgresRunLease final : public RunLease {
public:
    PostgresRunLease(std::unique_ptr<sql::PostgresDatabase> database, std::string_view partition)
        : database_(std::move(database)), partition_(partition) {}

    Result<std::optional<LeaseHolder>> look() override {
        auto rows = WEIR_TRY(database_->query(
            "SELECT holder, name, greatest(0, extract(epoch FROM clock_timestamp() - heard) * 1000)::bigint, ended "
            "FROM weir_run_leases WHERE partition = ?",
            {partition_}));
        const auto found = WEIR_TRY(rows.next());
        if (!found) return std::nullopt;
        LeaseHolder holder{rows.guid(0), rows.text(1), std::chrono::milliseconds(rows.i64(2)), rows.i64(3) != 0};
        WEIR_TRY(rows.row_ok());
        return holder;
    }

    Result<bool> take(const Guid& id, const std::string& name, const std::optional<Guid>& from) override {
        if (from)
            return changed(database_->execute(
                "UPDATE weir_run_leases SET holder = ?, name = ?, heard = clock_timestamp(), ended = 0 "
                "WHERE partition = ? AND (holder = ? OR holder = ?)",
                {id, name, partition_, *from, id}));
        return changed(database_->execute(
            "INSERT INTO weir_run_leases AS old (partition, holder, name, heard, ended) "
            "VALUES (?, ?, ?, clock_timestamp(), 0) ON CONFLICT (partition) DO UPDATE SET heard = clock_timestamp() "
            "WHERE old.holder = excluded.holder",
            {partition_, id, name}));
    }

    Result<std::map<std::string, std::string>> documents() override {
        auto rows =
            WEIR_TRY(database_->query("SELECT name, text FROM weir_run_documents WHERE partition = ?", {partition_}));
        std::map<std::string, std::string> all;
        while (true) {
            const auto more = WEIR_TRY(rows.next());
            if (!more) return all;
            auto name = rows.text(0);
            auto text = rows.text(1);
            WEIR_TRY(rows.row_ok());
            all.emplace(std::move(name), std::move(text));
        }
    }

    Result<bool> put(const Guid& id, const std::string& name, const std::optional<std::string>& text) override {
        if (text)
            return changed(database_->execute(
                "INSERT INTO weir_run_documents (partition, name, text) SELECT partition, ?, ? FROM weir_run_leases "
                "WHERE partition = ? AND holder = ? FOR UPDATE "
                "ON CONFLICT (partition, name) DO UPDATE SET text = excluded.text",
                {name, *text, partition_, id}));
        // What is not there is removed already: only who has the lease decides.
        const auto removed = WEIR_TRY(database_->execute(
            "DELETE FROM weir_run_documents WHERE partition = ? AND name = ? AND EXISTS (SELECT 1 FROM weir_run_leases "
            "WHERE partition = ? AND holder = ? FOR UPDATE)",
            {partition_, name, partition_, id}));
        if (removed > 0) return true;
        return renew(id);
    }

    Result<bool> renew(const Guid& id) override {
        return changed(database_->execute(
            "UPDATE weir_run_leases SET heard = clock_timestamp() WHERE partition = ? AND holder = ?",
            {partition_, id}));
    }

    Result<bool> end(const Guid& id) override {
        return changed(database_->execute(
            "UPDATE weir_run_leases SET heard = clock_timestamp(), ended = 1 WHERE partition = ? AND holder = ?",
            {partition_, id}));
    }

private:
    static Result<bool> changed(Result<std::int64_t> rows) {
        if (!rows) return std::unexpected(std::move(rows.error()));
        return *rows > 0;
    }

    const std::unique_ptr<sql::PostgresDatabase> database_;
    const std::string partition_;
};

/// Two that begin at once make them one after the other.
Result<> make_tables(sql::PostgresDatabase& database) {
    WEIR_TRY(database.begin_creating());
    auto made = database.script(lease_tables);
    if (made) return database.commit();
    database.rollback();
    return made;
}

}  // namespace

Result<std::unique_ptr<RunLease>> open_run_lease(const std::string& uri, std::string_view partition) {
    PostgresCatalogueOptions options;
    options.connect_timeout = 2s;
    options.answer_timeout = 3s;
    auto database = WEIR_TRY(sql::PostgresDatabase::open(uri, options));
    const auto there = WEIR_TRY(database->number_of(
        "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = current_schema() AND c.relname IN ('weir_run_leases', 'weir_run_documents')"));
    if (there != 2U) {
        WEIR_TRY(make_tables(*database));
    }
    return std::make_unique<PostgresRunLease>(std::move(database), partition);
}

}  // namespace weir::catalogue
