// SPDX-License-Identifier: Apache-2.0
// Catalogues as what they are, for the one of a recorder that keeps two.
#pragma once

#include "sql/sql_catalogue.hpp"
#include "weir/catalogue/postgres_catalogue.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"

namespace weir::catalogue {

/// As open_postgres_catalogue.
[[nodiscard]] Result<std::unique_ptr<SqlCatalogue>> open_postgres(const std::string& uri,
                                                                  const PostgresCatalogueOptions& options);

/// As open_sqlite_catalogue, whether its changes are carried elsewhere or not.
[[nodiscard]] Result<std::unique_ptr<SqlCatalogue>> open_sqlite(const std::filesystem::path& path,
                                                                const SqliteCatalogueOptions& options);

}  // namespace weir::catalogue
