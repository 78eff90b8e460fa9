// SPDX-License-Identifier: Apache-2.0
#include "disk/recording_directory.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "weir/catalogue/catalogue_place.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/volume_marker.hpp"

namespace weir::recorder {
namespace {

/// What an earlier version leaves in a directory that it records into.
bool was_recorded_into(const std::filesystem::path& directory) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        const auto& path = it->path();
        const auto name = path.filename().native();
        if (name == "weir.lock" || path == catalogue::catalogue_path(directory) || path.extension() == ".data" ||
            path.extension() == ".writing" || datafile::JournalWriter::number_of(path))
            return true;
    }
    return false;
}

}  // namespace

Result<> check_directory(const std::filesystem::path& directory, bool create) {
    std::error_code error;
    const auto status = std::filesystem::status(directory, error);
    if (status.type() == std::filesystem::file_type::not_found) {
        if (!create)
            return fail_errno(ENOENT,
                              fmt::format("cannot record into {}; mount its disk, or make the directory with --create",
                                          directory.native()));
        std::filesystem::create_directories(directory, error);
        if (error)
            return fail_errno(
                error.value(),
                fmt::format("cannot create directory {}; create it or choose another with --dir", directory.native()));
        return {};
    }
    if (error)
        return fail_errno(error.value(),
                          fmt::format("cannot record into {}; choose a directory with --dir", directory.native()));
    if (!std::filesystem::is_directory(status))
        return fail_errno(ENOTDIR,
                          fmt::format("cannot record into {}; choose a directory with --dir", directory.native()));
    if (create || std::filesystem::exists(directory / datafile::volume_marker_name, error) ||
        was_recorded_into(directory))
        return {};
    return fail(
        Errc::refused,
        fmt::format("nothing was recorded into {} before (it has no {}); mount its disk if it has one, or take a new "
                    "directory with --create",
                    directory.native(), datafile::volume_marker_name));
}

}  // namespace weir::recorder
