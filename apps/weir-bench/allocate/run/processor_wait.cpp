// SPDX-License-Identifier: Apache-2.0
#include "allocate/run/processor_wait.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace weir::app {

ProcessorWait::ProcessorWait() : schedstat_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

ProcessorWait::~ProcessorWait() {
    if (schedstat_ >= 0) ::close(schedstat_);
}

std::chrono::nanoseconds ProcessorWait::now() const noexcept {
    std::array<char, 128> text;  // ns: running, waiting for a processor, ...
    const auto got = schedstat_ < 0 ? -1 : ::pread(schedstat_, text.data(), text.size(), 0);
    if (got <= 0) return {};
    const auto* const end = text.data() + got;
    const auto* const blank = std::find<const char*>(text.data(), end, ' ');
    std::int64_t waiting_ns = 0;
    if (blank != end) std::from_chars(blank + 1, end, waiting_ns);
    return std::chrono::nanoseconds(waiting_ns);
}

}  // namespace weir::app
