// SPDX-License-Identifier: Apache-2.0
#include "weir/storage/volume_marker.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <string_view>

#include "weir/storage/catalogue_place.hpp"
#include "weir/storage/disk_fault.hpp"
#include "weir/storage/journal_writer.hpp"

namespace weir::storage {
namespace {

constexpr std::string_view first_line = "weir volume 1\n";
constexpr std::string_view id_key = "id ";
constexpr std::size_t guid_text_size = 36;

/// What an earlier version leaves in a directory that it records into.
bool was_recorded_into(const std::filesystem::path& directory) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        const auto& path = it->path();
        const auto name = path.filename().native();
        if (name == "weir.lock" || path == catalogue_path(directory) || path.extension() == ".data" ||
            path.extension() == ".writing" || JournalWriter::number_of(path))
            return true;
    }
    return false;
}

Result<Guid> write_marker(const std::filesystem::path& directory, FileSystem& system) {
    const auto id = Guid::random();
    auto file = File::open(directory / volume_marker_name, File::Mode::open_or_create, system, O_TRUNC);
    if (!file) return std::unexpected(file.error());
    const auto text = fmt::format("{}{}{}\nA recorder may record here. Do not copy this file to another directory.\n",
                                  first_line, id_key, to_string(id));
    if (auto written = file->write_at(0, as_data(text)); !written) return std::unexpected(written.error());
    if (auto synced = file->sync_data(); !synced) return std::unexpected(synced.error());
    if (auto synced = sync_directory(directory, system); !synced) return std::unexpected(synced.error());
    return id;
}

}  // namespace

std::optional<Guid> read_volume_marker(const std::filesystem::path& directory) {
    const auto text = read_text(directory / volume_marker_name, 4_KiB);
    if (!text || !text->starts_with(first_line)) return std::nullopt;
    auto rest = std::string_view(*text).substr(first_line.size());
    if (!rest.starts_with(id_key)) return std::nullopt;
    const auto id = parse_guid(rest.substr(id_key.size(), guid_text_size));
    return id ? std::optional(*id) : std::nullopt;
}

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
    if (create || std::filesystem::exists(directory / volume_marker_name, error) || was_recorded_into(directory))
        return {};
    return fail(
        Errc::refused,
        fmt::format("nothing was recorded into {} before (it has no {}); mount its disk if it has one, or take a new "
                    "directory with --create",
                    directory.native(), volume_marker_name));
}

Result<Guid> mark_directory(const std::filesystem::path& directory, FileSystem& system) {
    if (const auto id = read_volume_marker(directory)) return *id;
    auto written = write_marker(directory, system);
    if (!written && disk_fault_of(written.error()) == DiskFault::no_space) return Guid{};
    return written;
}

}  // namespace weir::storage
