// SPDX-License-Identifier: Apache-2.0
#include "cli/process/open_files.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace weir::app {

std::uint64_t allow_open_files(std::uint64_t wanted) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return wanted;
    const auto before = limit.rlim_cur;
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

}  // namespace weir::app
