// SPDX-License-Identifier: Apache-2.0
// How long a cache line takes from one thread's core to the other's and back. The host of a virtual machine moves its
// cores between near and far ones, and what two threads hand to each other becomes several times faster or slower with
// that.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace weir::app {

class CacheLineTrip {
public:
    /// One thread asks and another answers, at the same time. Seconds, the least of many trips; 0 when the two did not
    /// run side by side within 50 ms.
    [[nodiscard]] double ask() noexcept {
        constexpr std::uint32_t trips = 4;
        double least = std::numeric_limits<double>::max();
        std::uint32_t sent = 0;
        const auto begin = std::chrono::steady_clock::now();
        for (auto now = begin; sent < 400 * trips && now - begin < std::chrono::milliseconds(50);) {
            const auto before = now;
            for (std::uint32_t i = 0; i < trips; ++i) {
                asked_.store(++sent, std::memory_order_release);  // answer() acquires it
                while (answered_.load(std::memory_order_acquire) != sent) {
                }
            }
            now = std::chrono::steady_clock::now();
            least = std::min(least, std::chrono::duration<double>(now - before).count() / trips);
        }
        asked_.store(end, std::memory_order_release);
        return least < 10e-6 ? least : 0;
    }

    void answer() noexcept {
        std::uint32_t seen = 0;
        while (seen != end) {
            const auto asked = asked_.load(std::memory_order_acquire);
            if (asked != seen) answered_.store(seen = asked, std::memory_order_release);
        }
    }

private:
    static constexpr std::uint32_t end = std::numeric_limits<std::uint32_t>::max();
    alignas(64) std::atomic<std::uint32_t> asked_{0};
    alignas(64) std::atomic<std::uint32_t> answered_{0};
};

}  // namespace weir::app
