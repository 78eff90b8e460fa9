// SPDX-License-Identifier: Apache-2.0
// `weir bench select`: events a second of one level-2 processing unit against its worker threads, for data that need a
// time to come: a worker sleeps until its data are there, while others compute. And the same for a selection that
// requests its data in steps. Real stations over real sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::app {

struct SelectBenchOptions {
    std::vector<std::uint32_t> workers{1, 2, 4, 8, 16};
    std::vector<std::chrono::nanoseconds> latencies{std::chrono::microseconds(0), std::chrono::microseconds(500),
                                                    std::chrono::milliseconds(5)};
    std::string selection = "busy:50us";  // what a worker computes for each event
    std::uint32_t depth = 1;              // events in the unit for each worker
    std::uint32_t steps = 3;              // also measured: a selection that requests its data in so many; 0: not
    std::size_t repetitions = 5;
    std::chrono::milliseconds time{500};  // of one run
    bool quick = false;                   // a few points, in less than 3 s
    std::string plot;                     // an SVG or PNG file; empty: none
    bool json = false;
};

/// The exit code.
[[nodiscard]] int run_bench_select(const SelectBenchOptions& options);

}  // namespace weir::app
