// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/directory_lock.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace weir::datafile {
namespace {

/// "4711 on daq-3, boot 0f3c...": on a shared file system the process alone is ambiguous.
std::string this_process() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
    auto boot = read_text("/proc/sys/kernel/random/boot_id", 64_B).value_or("unknown");
    while (boot.ends_with('\n')) boot.pop_back();
    return fmt::format("{} on {}, boot {}", ::getpid(), host.data(), boot);
}

}  // namespace

Result<DirectoryLock> DirectoryLock::take(const std::filesystem::path& directory) {
    if (::access(directory.c_str(), W_OK | X_OK) != 0) {
        return fail_errno(errno, fmt::format("cannot write into directory {}; change its permissions or choose another "
                                             "with --dir",
                                             directory.native()));
    }
    auto file = WEIR_TRY(File::open(directory / "weir.lock", File::Mode::open_or_create));
    if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) {
        const auto owner = read_text(directory / "weir.lock", 512_B);
        return fail(Errc::refused,
                    fmt::format("directory {} is in use by another recorder (process {}); stop it or choose another "
                                "directory with --dir",
                                directory.native(), owner ? *owner : "unknown"));
    }
    const auto owner = this_process();
    WEIR_TRY(file.truncate(0));
    // On a full disk the lock holds without its text.
    static_cast<void>(file.write_at(0, as_data(owner)));
    return DirectoryLock(std::move(file));
}

}  // namespace weir::datafile
