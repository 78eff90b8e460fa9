// SPDX-License-Identifier: Apache-2.0
#include "record/tmpfs_medium.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t step = 32ULL << 20;    // of the reserve
constexpr std::uint64_t ahead = 128ULL << 20;  // free pages that a measurement always finds

}  // namespace

Result<std::unique_ptr<TmpfsMedium>> TmpfsMedium::mount(Bytes used) {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-tmpfs-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        return fail_errno(errno, fmt::format("cannot make directory {}", pattern));
    const std::filesystem::path directory = pattern;
    const auto size = used * 2 + 1_GiB;
    if (::mount("tmpfs", directory.c_str(), "tmpfs", 0, fmt::format("size={},huge=always", size.count()).c_str()) !=
        0) {
        const int why = errno;
        std::filesystem::remove(directory);
        return fail_errno(why, "cannot mount a tmpfs");
    }
    auto reserve = File::open(directory / "reserve", File::Mode::create_new);
    if (!reserve) {
        ::umount2(directory.c_str(), MNT_DETACH);
        return std::unexpected(reserve.error());
    }
    std::unique_ptr<TmpfsMedium> medium(new TmpfsMedium(directory, size, std::move(*reserve)));
    WEIR_TRY(medium->refill());
    return medium;
}

TmpfsMedium::~TmpfsMedium() {
    reserve_ = File{};
    ::umount2(directory_.c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove(directory_, ignored);
}

std::uint64_t TmpfsMedium::free_bytes() const {
    struct statvfs status{};
    if (::statvfs(directory_.c_str(), &status) != 0) return 0;
    return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

Result<> TmpfsMedium::refill() {
    const std::vector<std::byte> block(step, std::byte{1});
    while (free_bytes() > 2 * step) {
        WEIR_TRY(reserve_.write_at(reserved_, block));
        reserved_ += step;
    }
    return {};
}

void TmpfsMedium::give_way() {
    const auto free = free_bytes();
    if (free >= ahead || reserved_ == 0) return;
    reserved_ -= std::min(reserved_, (ahead - free + step - 1) / step * step);
    static_cast<void>(reserve_.truncate(reserved_));  // when it fails, the measurement fails for lack of room
}

TmpfsMedium::Measurement::Measurement(TmpfsMedium& medium) {
    medium.give_way();
    thread_ = std::jthread([&medium](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            medium.give_way();
            std::this_thread::sleep_for(2ms);
        }
    });
}

}  // namespace weir::app
