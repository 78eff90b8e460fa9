// SPDX-License-Identifier: Apache-2.0
#include "reading/device_limits.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

namespace weir::fixity {
namespace {

// From a public comparison of worker counts (borgbackup#10161): one on a disk, 4 to 6 on flash, and a
// network still gains at 10.
constexpr unsigned at_least_on_flash = 2, on_network = 8;

bool says_one(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
    return file && std::fgetc(file.get()) == '1';
}

/// The disk of a virtual machine. The kernel reports it as rotating, because it cannot know.
bool is_virtual(const std::string& place) {
    std::error_code none;
    const auto real = std::filesystem::canonical(place, none).native();
    return real.find("/virtio") != std::string::npos || real.find("/vbd-") != std::string::npos;
}

bool is_rotational(std::uint64_t device) {
    const auto place = fmt::format("/sys/dev/block/{}:{}", gnu_dev_major(device), gnu_dev_minor(device));
    if (is_virtual(place)) return false;
    return says_one(place + "/queue/rotational") ||
           says_one(place + "/../queue/rotational");  // a partition's is its disk's
}

bool is_network(const char* path) {
    struct statfs status{};
    if (::statfs(path, &status) != 0) return false;
    switch (static_cast<std::uint32_t>(status.f_type)) {
        case NFS_SUPER_MAGIC:
        case FUSE_SUPER_MAGIC:
        case AFS_FS_MAGIC:
        case 0xff534d42:  // CIFS
        case 0xfe534d42:  // SMB 2
        case 0x00c36400:  // Ceph
        case 0x0bd00bd0:  // Lustre
        case 0x47504653:  // GPFS
            return true;
        default: return false;
    }
}

}  // namespace

unsigned DeviceLimits::of(std::uint64_t device, const char* path) {
    if (fixed_ > 0) return fixed_;
    if (const auto found = known_.find(device); found != known_.end()) return found->second;
    unsigned limit = std::max(std::thread::hardware_concurrency(), at_least_on_flash);
    if (is_network(path)) limit = std::max(limit, on_network);
    else if (is_rotational(device)) limit = 1;
    return known_[device] = limit;
}

}  // namespace weir::fixity
