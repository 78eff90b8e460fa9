// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/open_name.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace weir::datafile {

bool has_name(const File& file, const std::filesystem::path& path) {
    struct stat open{}, named{};
    if (!file.is_open() || ::fstat(file.fd(), &open) != 0) return true;
    if (::stat(path.c_str(), &named) != 0) return errno != ENOENT && errno != ENOTDIR;
    return open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

Result<File> write_again(const File& open, std::uint64_t size, const std::filesystem::path& path, FileSystem& system) {
    if (!open.is_open())
        return fail(Errc::io, fmt::format("{} is not open any more, and its name is gone", path.native()));
    // Reads past the page cache would want aligned memory; nothing is written through this descriptor any more.
    if (const int flags = ::fcntl(open.fd(), F_GETFL); flags >= 0 && (flags & O_DIRECT) != 0)
        static_cast<void>(::fcntl(open.fd(), F_SETFL, flags & ~O_DIRECT));
    std::filesystem::path made;
    Result<File> file;
    for (int n = 1;; ++n) {  // the name that recovery gives to what must be looked at
        made = fmt::format("{}.cut-{}", (path.parent_path() / path.stem()).native(), n);
        file = File::open(made, File::Mode::create_new, system);
        if (file || file.error().os_errno != EEXIST) break;
    }
    if (!file) return file;
    const auto copied = [&]() -> Result<> {
        std::vector<std::byte> block(1U << 20);
        for (std::uint64_t at = 0; at < size;) {
            const auto got = WEIR_TRY(
                open.read_some_at(at, MutableData(block).first(std::min<std::uint64_t>(block.size(), size - at))));
            if (got == 0) break;
            WEIR_TRY(file->write_at(at, ConstData(block).first(got)));
            at += got;
        }
        WEIR_TRY(file->sync_data());
        WEIR_TRY(rename_new(made, path, system));
        return sync_directory(path.parent_path(), system);
    }();
    if (!copied) {  // the open file still has all of it, for another try
        static_cast<void>(remove_file(made, system));
        return std::unexpected(copied.error());
    }
    file->set_path(path);
    return file;
}

Result<std::filesystem::path> set_foreign_aside(const std::filesystem::path& path, FileSystem& system) {
    for (int n = 1;; ++n) {
        std::filesystem::path aside = fmt::format("{}.foreign-{}", path.native(), n);
        auto renamed = rename_new(path, aside, system);
        if (renamed) return aside;
        if (renamed.error().os_errno != EEXIST) return std::unexpected(renamed.error());
    }
}

}  // namespace weir::datafile
