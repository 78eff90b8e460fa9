// SPDX-License-Identifier: Apache-2.0
#include "disk/recording_directory.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "weir/datafile/volume_marker.hpp"

namespace weir::recorder {

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
    if (create || std::filesystem::exists(directory / datafile::volume_marker_name, error)) return {};
    return fail(Errc::refused, fmt::format("cannot record into {}: it has no {}; mount its disk if it has one, or take "
                                           "the directory into use with --create",
                                           directory.native(), datafile::volume_marker_name));
}

}  // namespace weir::recorder
