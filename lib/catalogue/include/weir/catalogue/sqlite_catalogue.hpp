// SPDX-License-Identifier: Apache-2.0
// The catalogue of one machine: a single SQLite file in the data directory, written ahead (WAL) and
// synced at every commit. Needs nothing installed or started.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>

#include "weir/base/system_clock.hpp"
#include "weir/catalogue/catalogue.hpp"

namespace weir::catalogue {

struct SqliteCatalogueOptions {
    bool create = true;                            // false: a missing file is an error
    std::chrono::milliseconds busy_timeout{5000};  // how long another process may hold the write lock
    std::size_t rows_max = 1'000'000;              // of one answer
    const Clock* clock = &system_clock();          // outlives the catalogue
    std::stop_token stop{};                        // ends the wait for a database that others are opening too
};

/// Errc::corrupt: damaged, or not a catalogue of ours; Errc::unsupported: another schema version. It is
/// never overwritten: the text names the way to rebuild it from the files.
[[nodiscard]] Result<std::unique_ptr<Catalogue>> open_sqlite_catalogue(const std::filesystem::path& path,
                                                                       const SqliteCatalogueOptions& options = {});

}  // namespace weir::catalogue
