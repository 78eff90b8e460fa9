// SPDX-License-Identifier: Apache-2.0
// In the place of postgres_catalogue.cpp and postgres_run_lease.cpp where libpq was not found.
#include "opening.hpp"
#include "weir/catalogue/run_lease.hpp"

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

Result<std::unique_ptr<RunLease>> open_run_lease(const std::string& uri, std::string_view) {
    return fail(Errc::unsupported, "the lease in " + printable_postgres_uri(uri) +
                                       " needs PostgreSQL's client library, without which this weir was built; install "
                                       "libpq-dev and build it again");
}

}  // namespace weir::catalogue
