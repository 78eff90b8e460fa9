// SPDX-License-Identifier: Apache-2.0
// The catalogue of several recorders: a PostgreSQL database (or one schema of it) that all of them write and
// hand-off and tools read. It needs nothing but an empty database and a role that may create tables in it.
//
// A connection that is lost is made anew by the next call. A change whose answer was lost is looked for before
// it is made again, so it happens once; a call fails after a bounded time when the server is away or hangs.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/system_clock.hpp"
#include "weir/catalogue/catalogue.hpp"

namespace weir::catalogue {

struct PostgresCatalogueOptions {
    bool create = true;                                // false: a database without our tables is an error
    std::chrono::seconds connect_timeout{5};           // at least 2 s
    std::chrono::milliseconds answer_timeout{15'000};  // of one statement, the wait for other writers included
    std::size_t rows_max = 1'000'000;                  // of one answer
    const Clock* clock = &system_clock();              // outlives the catalogue
};

/// Whether `text` names a PostgreSQL database, and not a path.
[[nodiscard]] bool is_postgres_uri(std::string_view text) noexcept;

/// The URI without its password, for messages.
[[nodiscard]] std::string printable_postgres_uri(std::string_view uri);

/// `uri` as libpq reads it: postgresql://USER@HOST:PORT/DATABASE, `?options=-csearch_path%3DNAME` for a schema;
/// what it does not contain (password, certificates) comes from where libpq looks. Errors: Errc::usage: no such URI;
/// Errc::io: no connection; Errc::corrupt, Errc::unsupported: another database or schema version;
/// Errc::unsupported: built without libpq.
[[nodiscard]] Result<std::unique_ptr<Catalogue>> open_postgres_catalogue(const std::string& uri,
                                                                         const PostgresCatalogueOptions& options = {});

}  // namespace weir::catalogue
