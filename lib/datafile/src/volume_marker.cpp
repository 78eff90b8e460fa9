// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/volume_marker.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <string_view>

#include "weir/datafile/disk_fault.hpp"

namespace weir::datafile {
namespace {

constexpr std::string_view first_line = "weir volume 1\n";
constexpr std::string_view id_key = "id ";

Result<Guid> write_marker(const std::filesystem::path& directory, FileSystem& system) {
    const auto id = Guid::random();
    auto file = WEIR_TRY(File::open(directory / volume_marker_name, File::Mode::open_or_create, system, O_TRUNC));
    const auto text = fmt::format("{}{}{}\nA recorder may record here. Do not copy this file to another directory.\n",
                                  first_line, id_key, to_string(id));
    WEIR_TRY(file.write_at(0, as_data(text)));
    WEIR_TRY(file.sync_data());
    WEIR_TRY(sync_directory(directory, system));
    return id;
}

}  // namespace

std::optional<Guid> read_volume_marker(const std::filesystem::path& directory) {
    const auto text = read_text(directory / volume_marker_name, 4_KiB);
    if (!text || !text->starts_with(first_line)) return std::nullopt;
    auto rest = std::string_view(*text).substr(first_line.size());
    if (!rest.starts_with(id_key)) return std::nullopt;
    const auto id = parse_guid(rest.substr(id_key.size(), Guid::text_size));
    return id ? std::optional(*id) : std::nullopt;
}

Result<Guid> mark_directory(const std::filesystem::path& directory, FileSystem& system) {
    if (const auto id = read_volume_marker(directory)) return *id;
    auto written = write_marker(directory, system);
    if (!written && disk_fault_of(written.error()) == DiskFault::no_space) return Guid{};
    return written;
}

}  // namespace weir::datafile
