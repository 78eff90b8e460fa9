// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/catalogue_place.hpp"

#include <fmt/format.h>

#include "queued/queued_catalogue.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"

namespace weir::catalogue {

std::filesystem::path catalogue_path(const std::filesystem::path& directory) { return directory / "weir.catalogue"; }

Result<std::unique_ptr<Catalogue>> open_own_catalogue(const std::filesystem::path& directory, const std::string& place,
                                                      Reporter report) {
    if (is_postgres_uri(place)) {
        QueuedCatalogueOptions options;
        options.report = std::move(report);
        return open_queued_catalogue(catalogue_path(directory), place, std::move(options));
    }
    return open_sqlite_catalogue(own_catalogue_path(directory, place));
}

std::filesystem::path own_catalogue_path(const std::filesystem::path& directory, const std::string& place) {
    return place.empty() || is_postgres_uri(place) ? catalogue_path(directory) : std::filesystem::path(place);
}

Result<std::unique_ptr<Catalogue>> open_catalogue_beside_recorder(const std::filesystem::path& directory,
                                                                  const std::string& place, Reporter report) {
    const auto path = own_catalogue_path(directory, place);
    if (!is_postgres_uri(place)) return open_sqlite_catalogue(path, {.create = false});
    QueuedCatalogueOptions options;
    options.begin = false;
    options.report = std::move(report);
    return open_queued_catalogue(path, place, std::move(options));
}

Result<std::unique_ptr<Catalogue>> open_named_catalogue(const std::string& place) {
    if (!is_postgres_uri(place)) return open_sqlite_catalogue(place, {.create = false});
    PostgresCatalogueOptions options;
    options.create = false;
    return open_postgres_catalogue(place, options);
}

std::optional<std::string> carried_over(Catalogue& catalogue, std::chrono::milliseconds deadline) {
    const auto settled = catalogue.settle(deadline);
    if (!settled) return settled.error().message();
    if (*settled) return std::nullopt;
    const auto left = catalogue.changes_waiting();
    return fmt::format(
        "{} changes have not reached the shared catalogue; they are kept, and carried over by the next weir record, "
        "weir recover or weir handoff on these directories",
        left ? fmt::to_string(*left) : "some");
}

}  // namespace weir::catalogue
