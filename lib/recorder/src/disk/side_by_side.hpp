// SPDX-License-Identifier: Apache-2.0
// Calls that wait for a disk, several at a time: the file system makes one commit of its own journal for all of them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <thread>

#include "weir/base/start_thread.hpp"

namespace weir::recorder {

constexpr std::size_t calls_at_once = 6;

/// Calls `work` with each number below `count`, from several threads. Returns when all have ended.
template <class Work>
void side_by_side(std::size_t count, const Work& work) {
    std::atomic<std::size_t> next{0};
    const auto some = [&] {
        for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) work(i);
    };
    std::array<std::jthread, calls_at_once - 1> threads;
    for (std::size_t i = 1; i < std::min(count, calls_at_once); ++i) {
        if (!start_thread(threads[i - 1], some)) break;  // those that there are do all of it
    }
    some();
}

}  // namespace weir::recorder
