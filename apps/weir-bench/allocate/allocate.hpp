// SPDX-License-Identifier: Apache-2.0
// `weir bench allocate`: the experiment of 2003 (Gadomski et al.) drawn again. There, one pool that all threads shared
// cost a factor of four, and a pool for each thread leaked when one thread freed what another had allocated. Those two,
// what weir has instead, and the allocators of others, each in a process of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"

namespace weir::app {

struct AllocateBenchOptions {
    std::vector<std::string> allocators;  // only these; empty: all
    std::vector<unsigned> threads;        // of the private pattern; empty: 1, 2, 4, ... and all processors
    std::size_t repetitions = 5;
    std::chrono::milliseconds time{500};  // of one run of a point
    std::uint32_t seconds = 60;           // of the run that watches memory; 0: none
    Bytes memory_max = 2_GiB;             // a run ends there: what leaks would go on
    bool quick = false;                   // short runs, in seconds
    std::string worker;                   // the pattern; this process is a worker
    std::string plot;                     // an SVG or PNG file; empty: none
    bool json = false;
};

/// The exit code.
[[nodiscard]] int run_bench_allocate(const AllocateBenchOptions& options);

}  // namespace weir::app
