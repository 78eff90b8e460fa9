// SPDX-License-Identifier: Apache-2.0
// Opening. The tables are those of SQLite, in PostgreSQL's words; the version stands in a table of its own.
#include "weir/catalogue/postgres_catalogue.hpp"

#include <fmt/format.h>

#include "opening.hpp"
#include "postgres/postgres_database.hpp"
#include "sql/schema.hpp"

namespace weir::catalogue {
namespace {

/// What only several writers far from their database need.
constexpr const char* own_tables = R"sql(
CREATE TABLE weir_catalogue (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL
);
CREATE TABLE writers (
    writer TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    change BIGINT NOT NULL,
    at_us BIGINT NOT NULL
);
CREATE TABLE recorders (
    recorder TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    writer TEXT COLLATE "C" NOT NULL
);
)sql";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

/// SQLite's text as PostgreSQL reads it. Texts are sorted by their bytes, as there.
std::string in_postgres_words(std::string text) {
    for (auto at = text.find("\nPRAGMA "); at != text.npos; at = text.find("\nPRAGMA "))
        text.erase(at, text.find('\n', at + 1) - at);
    replace_all(text, " INTEGER", " BIGINT");
    replace_all(text, " TEXT", " TEXT COLLATE \"C\"");
    replace_all(text, ") STRICT;", ");");
    return text;
}

/// Which of our tables there are: in one question, so that another process that makes them all meanwhile is seen whole
/// or not at all. Asked of the server's own tables, because a name that was looked up in vain is remembered as missing
/// until the transaction ends.
constexpr const char* our_tables =
    "SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = current_schema() AND c.relname IN ('weir_catalogue', 'runs', 'files')";

enum class PostgresSchema { none, present };  // what the schema of the database holds

Result<PostgresSchema> recognised(sql::PostgresDatabase& database) {
    auto tables = WEIR_TRY(database.query(our_tables));
    bool marked = false, others = false;
    while (true) {
        const auto row = WEIR_TRY(tables.next());
        if (!row) break;
        const bool mark = tables.text(0) == "weir_catalogue";
        marked = marked || mark;
        others = others || !mark;
    }
    if (!marked && !others) return PostgresSchema::none;
    if (!marked)
        return fail(Errc::corrupt, fmt::format("{} is a database, but not a catalogue of weir; give another one, or a "
                                               "schema of its own (?options=-csearch_path%3DNAME)",
                                               database.name()));
    const auto version = WEIR_TRY(database.number_of("SELECT max(version) FROM weir_catalogue"));
    if (version == catalogue_schema_version) return PostgresSchema::present;
    const bool newer = version > catalogue_schema_version;
    return fail(Errc::unsupported,
                fmt::format("catalogue {} has schema version {}, {} than version {} of this program; {}",
                            database.name(), version.value_or(0), newer ? "newer" : "older", catalogue_schema_version,
                            newer ? "use the newer program that wrote it"
                                  : "start with an empty database: it can be "
                                    "rebuilt from the files"));
}

/// The schema, in an empty database.
Result<> create(sql::PostgresDatabase& database) {
    WEIR_TRY(database.begin_creating());
    const auto made = [&]() -> Result<> {
        // Again, under the lock: another process may have been first.
        const auto there = WEIR_TRY(recognised(database));
        if (there == PostgresSchema::present) return {};
        WEIR_TRY(database.script(in_postgres_words(catalogue_schema()).c_str()));
        WEIR_TRY(database.script(own_tables));
        WEIR_TRY(database.execute("INSERT INTO weir_catalogue (id, version) VALUES (?, ?)",
                                  {Guid::random(), catalogue_schema_version}));
        return {};
    }();
    if (made) return database.commit();
    database.rollback();
    return made;
}

/// Rows of processes that were killed: what they were for lasts as long as a lost connection is made again.
Result<> delete_old_handles(sql::PostgresDatabase& database, WallTime now) {
    constexpr auto enough = std::chrono::hours{24};
    WEIR_TRY(database.execute("DELETE FROM writers WHERE writer LIKE 'handle %' AND at_us < ?", {now - enough}));
    return {};
}

}  // namespace

Result<std::unique_ptr<SqlCatalogue>> open_postgres(const std::string& uri, const PostgresCatalogueOptions& options) {
    auto database = WEIR_TRY(sql::PostgresDatabase::open(uri, options));
    const auto there = WEIR_TRY(recognised(*database));
    if (there == PostgresSchema::none && !options.create)
        return fail(Errc::io, fmt::format("there is no catalogue in {}; a recorder makes it at its first start",
                                          database->name()));
    if (there != PostgresSchema::present) {
        WEIR_TRY(create(*database));
    } else if (options.create) {
        WEIR_TRY(delete_old_handles(*database, options.clock->wall()));
    }
    return std::make_unique<SqlCatalogue>(std::move(database), options.rows_max, *options.clock);
}

Result<std::unique_ptr<Catalogue>> open_postgres_catalogue(const std::string& uri,
                                                           const PostgresCatalogueOptions& options) {
    return open_postgres(uri, options);
}

}  // namespace weir::catalogue
