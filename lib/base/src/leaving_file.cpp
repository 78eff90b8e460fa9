// SPDX-License-Identifier: Apache-2.0
#include "weir/base/leaving_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <vector>

namespace weir {
namespace {

constexpr std::string_view ending = ".leaving";

}  // namespace

std::filesystem::path leaving_name(const std::filesystem::path& file) { return file.native() + std::string(ending); }

Result<std::size_t> restore_leaving_files(const std::filesystem::path& directory, FileSystem& system) {
    std::vector<std::filesystem::path> leaving;
    std::error_code error;
    for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        if (it->path().native().ends_with(ending)) leaving.push_back(it->path());
    }
    if (error) return fail_errno(error.value(), fmt::format("cannot read directory {}", directory.native()));
    std::size_t count = 0;
    Result<> all;
    for (const auto& path : leaving) {
        const auto& name = path.native();
        auto renamed = rename_new(path, name.substr(0, name.size() - ending.size()), system);
        if (renamed) {
            ++count;
        } else if (renamed.error().os_errno != ENOENT) {  // another program was first
            all = std::move(renamed);
        }
    }
    if (count > 0) {
        WEIR_TRY(sync_directory(directory, system));
    }
    if (!all) return std::unexpected(all.error());
    return count;
}

}  // namespace weir
