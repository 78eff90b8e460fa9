// SPDX-License-Identifier: Apache-2.0
// In the place of postgres_catalogue.cpp where libpq was not found.
#include "opening.hpp"

namespace weir::catalogue {

Result<std::unique_ptr<SqlCatalogue>> open_postgres(const std::string& uri, const PostgresCatalogueOptions&) {
    return fail(Errc::unsupported, "catalogue " + printable_postgres_uri(uri) +
                                       " needs PostgreSQL's client library, without which this weir was built; install "
                                       "libpq-dev and build it again");
}

Result<std::unique_ptr<Catalogue>> open_postgres_catalogue(const std::string& uri,
                                                           const PostgresCatalogueOptions& options) {
    return open_postgres(uri, options);
}

}  // namespace weir::catalogue
