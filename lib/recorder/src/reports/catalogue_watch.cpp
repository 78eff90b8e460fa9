// SPDX-License-Identifier: Apache-2.0
#include "reports/catalogue_watch.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace weir::recorder {

CatalogueWatch::CatalogueWatch(catalogue::Catalogue& catalogue, std::filesystem::path path, OperatorReports& reports)
    : catalogue_(catalogue), path_(std::move(path)), reports_(reports) {}

void CatalogueWatch::step(SteadyTime now) {
    if (now < due_) return;
    due_ = now + interval;
    look();
}

void CatalogueWatch::look() {
    std::error_code ignored;
    if (!std::filesystem::exists(std::filesystem::absolute(path_, ignored).parent_path(), ignored))
        return;  // it may come back
    const auto again = catalogue_.restore_name();
    if (again && !*again) return;
    const bool known = std::exchange(gone_, !again);
    if (known && !again) return;
    reports_.interfered(
        "catalogue removed",
        fmt::format("{} was removed or renamed while it was in use; {}", path_.native(),
                    again ? "it was written again from what was open; start a weir handoff that runs here again"
                          : again.error().message()));
}

}  // namespace weir::recorder
