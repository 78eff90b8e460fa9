// SPDX-License-Identifier: Apache-2.0
// How long a piece of code runs, for benches: in the processor time of the calling thread, so that a neighbour
// who takes the core does not count.
#pragma once

#include <time.h>

#include <cstdint>

namespace weir::app {

[[nodiscard]] inline double thread_seconds() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Keeps the compiler from removing the computation of `value`.
template <class Value>
inline void keep(Value& value) noexcept {
    asm volatile("" : "+r,m"(value) : : "memory");
}

/// Seconds of one of the runs that `repeat(times)` makes, over as many as fill about `enough` seconds.
template <class Repeat>
[[nodiscard]] double seconds_of_one(Repeat&& repeat, double enough = 0.002) {
    std::uint64_t runs = 1;
    while (true) {
        const double begin = thread_seconds();
        repeat(runs);
        const double seconds = thread_seconds() - begin;
        if (seconds >= enough / 2 || runs > (std::uint64_t{1} << 40)) return seconds / static_cast<double>(runs);
        runs = seconds < enough / 100 ? runs * 20
                                      : static_cast<std::uint64_t>(static_cast<double>(runs) * enough / seconds) + 1;
    }
}

/// Seconds of one run of `work`.
template <class Work>
[[nodiscard]] double seconds_of(Work&& work, double enough = 0.002) {
    return seconds_of_one(
        [&](std::uint64_t runs) {
            for (std::uint64_t i = 0; i < runs; ++i) work();
        },
        enough);
}

}  // namespace weir::app
