// SPDX-License-Identifier: Apache-2.0
// Looks whether the file of the catalogue still has its name. SQLite goes on in a file that has none any more, and what
// that file holds is gone at the end: so it is written again from what is open, and reported as interference.
#pragma once

#include <chrono>
#include <filesystem>

#include "reports/operator_reports.hpp"
#include "weir/base/clock.hpp"
#include "weir/catalogue/catalogue.hpp"

namespace weir::recorder {

/// One thread at a time.
class CatalogueWatch {
public:
    static constexpr std::chrono::seconds interval{1};

    CatalogueWatch(catalogue::Catalogue& catalogue, std::filesystem::path path, OperatorReports& reports);

    /// Looks once in an interval.
    void step(SteadyTime now);
    /// Looks now.
    void look();

private:
    catalogue::Catalogue& catalogue_;
    const std::filesystem::path path_;
    OperatorReports& reports_;
    SteadyTime due_{};
    bool gone_ = false;  // and it could not be written again: reported once, tried again
};

}  // namespace weir::recorder
