// SPDX-License-Identifier: Apache-2.0
#include "disk/space_reserve.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace weir::recorder {
namespace {

/// For file systems that cannot take space without writing it.
Result<> write_zeros(File& file, std::uint64_t size) {
    const std::vector<std::byte> zeros(std::min<std::uint64_t>(size, 64U << 10));
    for (std::uint64_t at = 0; at < size;) {
        const auto part = std::min<std::uint64_t>(zeros.size(), size - at);
        WEIR_TRY(file.write_at(at, ConstData(zeros).first(part)));
        at += part;
    }
    return {};
}

}  // namespace

Result<> SpaceReserve::make() {
    const std::scoped_lock lock(mutex_);
    if (held_) return {};
    const auto take = [&]() -> Result<> {
        auto file = WEIR_TRY(File::open(path_, File::Mode::open_or_create, system_));
        auto taken = file.allocate(0, size_.count());
        if (!taken && (taken.error().os_errno == EOPNOTSUPP || taken.error().os_errno == ENOSYS))
            taken = write_zeros(file, size_.count());
        return taken;
    };
    auto taken = take();
    held_ = taken.has_value();
    if (!held_) static_cast<void>(remove_file(path_, system_));
    return taken;
}

bool SpaceReserve::release() {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(held_, false)) return false;
    static_cast<void>(remove_file(path_, system_));
    return true;
}

bool SpaceReserve::held() const {
    const std::scoped_lock lock(mutex_);
    return held_;
}

}  // namespace weir::recorder
