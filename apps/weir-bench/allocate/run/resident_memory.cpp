// SPDX-License-Identifier: Apache-2.0
#include "allocate/run/resident_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace weir::app {

ResidentMemory::ResidentMemory() noexcept
    : statm_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      page_bytes_(static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE))) {}

ResidentMemory::~ResidentMemory() {
    if (statm_ >= 0) ::close(statm_);
}

std::uint64_t ResidentMemory::now() const noexcept {
    std::array<char, 128> text;  // pages: all, resident, ...
    const auto got = statm_ < 0 ? -1 : ::pread(statm_, text.data(), text.size(), 0);
    if (got <= 0) return 0;
    const auto* const end = text.data() + got;
    const auto* const blank = std::find<const char*>(text.data(), end, ' ');
    std::uint64_t pages = 0;
    if (blank != end) std::from_chars(blank + 1, end, pages);
    return pages * page_bytes_;
}

}  // namespace weir::app
