// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_books.hpp"

#include <algorithm>

#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/run_record_file.hpp"

namespace weir::control {
namespace {

void name_one(std::vector<std::string>& names, const std::string& name) {
    if (names.size() < HandOffAccount::names_max) names.push_back(name);
}

}  // namespace

LocalBooks::LocalBooks(const std::filesystem::path& directory, const std::string& catalogue)
    : open_([directory, catalogue]() -> Result<std::unique_ptr<catalogue::Catalogue>> {
          std::error_code unknown;
          if (!std::filesystem::exists(catalogue::own_catalogue_path(directory, catalogue), unknown)) return nullptr;
          return catalogue::open_catalogue_beside_recorder(directory, catalogue);
      }),
      directory_(directory) {}

Result<RunNumber> LocalBooks::next_free_run() {
    const auto catalogue = WEIR_TRY(open_());
    return catalogue ? catalogue->next_free_run() : RunNumber{1};
}

Result<> LocalBooks::keep(RunNumber run, const std::map<std::string, std::string>& parameters) {
    const auto catalogue = WEIR_TRY(open_());
    if (!catalogue) return {};
    for (const auto& [name, value] : parameters) {
        WEIR_TRY(catalogue->set_run_parameter(run, name, value));
    }
    return {};
}

Result<> LocalBooks::keep(const catalogue::RunRecord& record) {
    std::error_code unknown;
    Result<> kept;
    if (std::filesystem::is_directory(directory_, unknown))
        kept = catalogue::write_run_record(directory_, record, Synced::yes);
    const auto catalogue = WEIR_TRY(open_());
    if (catalogue) {
        if (auto here = catalogue::keep_run_record(*catalogue, record); !here && kept) kept = std::move(here);
    }
    return kept;
}

Result<HandOffAccount> LocalBooks::files(RunNumber run, const std::string& checksum) {
    HandOffAccount account;
    const auto catalogue = WEIR_TRY(open_());
    if (!catalogue) return account;
    const auto files = WEIR_TRY(catalogue->files({.run = run}));
    for (const auto& file : files) {
        if (file.file_state == catalogue::FileState::opened) continue;
        ++account.closed;
        if (file.transfer_state == catalogue::TransferState::transferred) {
            ++account.handed_over;
            continue;
        }
        ++account.left;
        if (file.file_health == catalogue::FileHealth::quarantined) {
            ++account.quarantined;
            name_one(account.names_kept, file.name);
        } else if (std::ranges::find(file.sums, checksum, &catalogue::FileSum::algorithm) == file.sums.end()) {
            ++account.without_sum;
            name_one(account.names_kept, file.name);
        } else {
            name_one(account.names, file.name);
        }
    }
    return account;
}

}  // namespace weir::control
