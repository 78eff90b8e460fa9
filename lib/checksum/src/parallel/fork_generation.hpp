// SPDX-License-Identifier: Apache-2.0
// How often this process has become another one by fork(). A child has none of its parent's threads, so
// an object with threads keeps the generation it was made in, and does not use them in another one.
#pragma once

#include <pthread.h>

#include <atomic>

namespace weir::checksum {

/// Cheap enough for every call: one load of a variable that is written in a fork's child only.
[[nodiscard]] inline unsigned fork_generation() noexcept {
    static std::atomic<unsigned> generation{0};
    static const bool registered =
        ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); }) == 0;
    static_cast<void>(registered);  // refused only for want of memory; then a child must not use objects with threads
    return generation.load(std::memory_order_relaxed);
}

}  // namespace weir::checksum
