// SPDX-License-Identifier: Apache-2.0
// Opening. The order of opening matters: a file that is not ours is recognised before
// anything is written to it.
#include "weir/catalogue/sqlite_catalogue.hpp"

#include <fmt/format.h>

#include "queued/queued_catalogue_backend.hpp"
#include "sql/schema.hpp"
#include "sqlite/sqlite_database.hpp"
#include "weir/base/file.hpp"
#include "weir/base/stoppable_sleep.hpp"

namespace weir::catalogue {
namespace {

enum class Schema { none, present };  // what a database file holds

/// Within a transaction: another process that creates it meanwhile is seen whole or not at all.
Result<Schema> recognised(sql::SqliteDatabase& database) {
    const auto tables = WEIR_TRY(database.number_of("SELECT count(*) FROM sqlite_schema"));
    const auto id = WEIR_TRY(database.number_of("PRAGMA application_id"));
    const auto version = WEIR_TRY(database.number_of("PRAGMA user_version"));
    if (id == 0U && version == 0U && tables == 0U) return Schema::none;
    const auto& path = database.path().native();
    if (id != catalogue_application_id)
        return fail(Errc::corrupt, fmt::format("{} is a database, but not a catalogue of weir; give another name, "
                                               "or move it away: a catalogue can be rebuilt from the files",
                                               path));
    if (version < catalogue_schema_version)
        return fail(Errc::unsupported, fmt::format("catalogue {} has schema version {}, older than version {} of this "
                                                   "program; move it away: it can be rebuilt from the files",
                                                   path, version.value_or(0), catalogue_schema_version));
    if (version > catalogue_schema_version)
        return fail(Errc::unsupported, fmt::format("catalogue {} has schema version {}, newer than version {} of this "
                                                   "program; use the newer program that wrote it",
                                                   path, version.value_or(0), catalogue_schema_version));
    return Schema::present;
}

/// The schema, in an empty database.
Result<> create_schema(sql::SqliteDatabase& database) {
    auto transaction = WEIR_TRY(sql::Transaction::begin(database));
    const auto there = WEIR_TRY(recognised(database));  // again, under the lock: another process may have been first
    if (there == Schema::present) return {};
    WEIR_TRY(database.script(catalogue_schema()));
    return transaction.commit();
}

Result<> write_ahead(sql::SqliteDatabase& database) {
    auto rows = WEIR_TRY(database.query("PRAGMA journal_mode = WAL"));
    const auto got = WEIR_TRY(rows.next());
    const auto mode = got ? rows.text(0) : std::string("none");
    if (mode == "wal") return {};
    return fail(Errc::unsupported, fmt::format("catalogue {} cannot be written ahead (SQLite offers \"{}\"); put it on "
                                               "a local disk, a network file system lacks what it needs",
                                               database.path().native(), mode));
}

/// Creates or recognises, then sets how this connection writes.
Result<> prepare(sql::SqliteDatabase& database) {
    WEIR_TRY(database.script("BEGIN"));
    const auto there = recognised(database);
    const auto ended = database.script("ROLLBACK");  // nothing was changed
    if (!there) return std::unexpected(there.error());
    if (!ended) return ended;
    if (*there != Schema::present) {
        WEIR_TRY(database.script("PRAGMA synchronous = FULL"));
        WEIR_TRY(create_schema(database));
    }
    WEIR_TRY(write_ahead(database));
    WEIR_TRY(database.script("PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON"));
    if (*there != Schema::none) return {};
    auto directory = std::filesystem::absolute(database.path()).parent_path();
    return sync_directory(directory);
}

}  // namespace

Result<std::unique_ptr<SqlCatalogue>> open_sqlite(const std::filesystem::path& path,
                                                  const SqliteCatalogueOptions& options) {
    auto database = WEIR_TRY(sql::SqliteDatabase::open(path, options.create, options.busy_timeout));
    // Entering WAL mode is the one step for which SQLite may answer "busy" at once instead of waiting.
    const auto deadline = options.clock->now() + options.busy_timeout;
    while (true) {
        const auto prepared = prepare(*database);
        if (prepared) break;
        if (prepared.error().os_errno != EBUSY || options.clock->now() >= deadline)
            return std::unexpected(prepared.error());
        if (!stoppable_sleep(std::chrono::milliseconds{5}, options.stop)) return std::unexpected(prepared.error());
    }
    return std::make_unique<SqlCatalogue>(std::move(database), options.rows_max, *options.clock);
}

Result<std::unique_ptr<Catalogue>> open_sqlite_catalogue(const std::filesystem::path& path,
                                                         const SqliteCatalogueOptions& options) {
    auto own = WEIR_TRY(open_sqlite(path, options));
    const auto shared = WEIR_TRY(is_shared(*own));
    if (shared) return QueuedCatalogue::open(std::move(own), "", {});  // what is changed is noted for the shared one
    return own;
}

}  // namespace weir::catalogue
