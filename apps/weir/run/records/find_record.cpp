// SPDX-License-Identifier: Apache-2.0
#include "run/records/find_record.hpp"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "files/recorder_directories.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/run_record_file.hpp"

namespace weir::app {
namespace {

namespace fs = std::filesystem;

/// The better of what was found, and the first error.
class Found {
public:
    void add(Result<std::optional<catalogue::RunRecord>> record) {
        if (!record) {
            if (!error_) error_ = std::move(record.error());
            return;
        }
        if (*record && (!best_ || known(**record) > known(*best_))) best_ = std::move(*record);
    }
    [[nodiscard]] std::optional<catalogue::RunRecord>& best() noexcept { return best_; }
    [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }

private:
    static std::pair<std::uint64_t, std::size_t> known(const catalogue::RunRecord& record) {
        return {record.changes.size() + record.changes_left_out, record.parameters.size()};
    }
    std::optional<catalogue::RunRecord> best_;
    std::optional<Error> error_;
};

Result<std::optional<catalogue::RunRecord>> in_catalogue(const std::string& place, RunNumber run) {
    const auto catalogue = WEIR_TRY(catalogue::open_named_catalogue(place));
    return catalogue::kept_run_record(*catalogue, run);
}

Result<std::optional<catalogue::RunRecord>> in_file(const fs::path& path) {
    std::error_code unknown;
    if (!fs::exists(path, unknown)) return std::nullopt;
    auto record = WEIR_TRY(catalogue::read_run_record(path));
    return record;
}

}  // namespace

Result<catalogue::RunRecord> find_record(RunNumber run, const RecordPlace& place) {
    Found found;
    if (!place.catalogue.empty()) {
        found.add(in_catalogue(place.catalogue, run));
    } else {
        std::vector<fs::path> directories{place.directory};
        std::error_code absent;
        for (fs::directory_iterator it(place.directory, absent), end; !absent && it != end; it.increment(absent)) {
            std::error_code none;
            if (it->is_directory(none)) directories.push_back(it->path());
        }
        for (const auto& directory : directories) found.add(in_file(catalogue::run_record_path(directory, run)));
        for (const auto& directory : directories_with_catalogue(place.directory))
            found.add(in_catalogue(catalogue::catalogue_path(directory).native(), run));
    }
    if (found.best()) return *std::move(found.best());
    if (found.error()) return std::unexpected(*found.error());
    return fail(Errc::refused,
                fmt::format("{} has no record of run {}; weir ls lists the runs that have files",
                            place.catalogue.empty() ? place.directory.native() : place.catalogue, number(run)));
}

}  // namespace weir::app
