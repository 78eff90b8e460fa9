// SPDX-License-Identifier: Apache-2.0
#include "weir/base/rename_way.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "weir/base/file.hpp"

namespace weir {

const char* name(RenameWay way) noexcept {
    switch (way) {
        case RenameWay::no_replace: return "RENAME_NOREPLACE";
        case RenameWay::link: return "link and unlink";
        case RenameWay::look: return "a look, then rename";
    }
    return "";
}

int rename_by(RenameWay way, const char* from, const char* to) noexcept {
    switch (way) {
        case RenameWay::no_replace: return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
        case RenameWay::link: return ::link(from, to) == 0 ? ::unlink(from) : -1;
        case RenameWay::look: break;
    }
    struct ::stat there{};
    if (::lstat(to, &there) == 0) return errno = EEXIST, -1;
    return errno == ENOENT ? ::rename(from, to) : -1;
}

bool lacks_way(int error) noexcept {
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM || error == EMLINK;
}

Result<RenameWay> find_rename_way(const std::filesystem::path& directory) {
    const auto from = directory / "weir.probe-1", to = directory / "weir.probe-2";
    std::error_code ignored;
    std::filesystem::remove(to, ignored);  // of a process that died here
    for (const auto way : rename_ways) {
        auto file = WEIR_TRY(File::open(from, File::Mode::open_or_create));
        WEIR_TRY(file.close());
        const int renamed = rename_by(way, from.c_str(), to.c_str());
        const int why = errno;
        std::filesystem::remove(from, ignored);
        std::filesystem::remove(to, ignored);
        if (renamed == 0) return way;
        if (!lacks_way(why)) return fail_errno(why, fmt::format("cannot rename in {}", directory.native()));
    }
    return fail(Errc::unsupported,
                fmt::format("{} lies on a file system that cannot rename files; choose another", directory.native()));
}

}  // namespace weir
