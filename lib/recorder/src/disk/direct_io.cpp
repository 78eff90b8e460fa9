// SPDX-License-Identifier: Apache-2.0
#include "weir/recorder/direct_io.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <cstdint>

namespace weir::recorder {
namespace {

#ifndef XFS_SUPER_MAGIC
constexpr std::uint64_t xfs_magic = 0x58465342;
#else
constexpr std::uint64_t xfs_magic = XFS_SUPER_MAGIC;
#endif

}  // namespace

// Not on btrfs: its own checksums would be made of memory that may change while it is written (the last,
// partial block).
bool direct_by_itself(const std::filesystem::path& directory) {
    struct statfs status{};
    if (::statfs(directory.c_str(), &status) != 0) return false;
    const auto kind = static_cast<std::uint64_t>(status.f_type);
    return kind == EXT4_SUPER_MAGIC || kind == xfs_magic;
}

}  // namespace weir::recorder
