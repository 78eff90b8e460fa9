// SPDX-License-Identifier: Apache-2.0
#include "files/recorder_directories.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include "weir/catalogue/catalogue_place.hpp"
#include "weir/service/alarm_file.hpp"

namespace weir::app {
namespace {

namespace fs = std::filesystem;

bool found(const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error);
}

bool has_catalogue(const fs::path& directory) { return found(catalogue::catalogue_path(directory)); }

bool has_alarms(const fs::path& directory) {
    const std::array places{service::AlarmPlace{.directory = directory},
                            service::AlarmPlace{.directory = directory, .station = service::hand_off_station}};
    return has_catalogue(directory) || std::ranges::any_of(places, [](const service::AlarmPlace& place) {
               return found(place.file()) || found(place.socket());
           });
}

std::vector<fs::path> those_with(const fs::path& directory, bool (*has)(const fs::path&)) {
    if (has(directory)) return {directory};
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        std::error_code no_directory;
        if (it->is_directory(no_directory) && has(it->path())) found.push_back(it->path());
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace

std::vector<fs::path> directories_with_catalogue(const fs::path& directory) {
    return those_with(directory, has_catalogue);
}

std::vector<fs::path> directories_with_alarms(const fs::path& directory) { return those_with(directory, has_alarms); }

}  // namespace weir::app
