// SPDX-License-Identifier: Apache-2.0
// `weir bench parallel`: adler32 of one event by several threads, as Le Goff and Avolio studied it: what a
// hand-over costs in each scheme, and from which size on splitting wins, for their kernel (zlib's) and ours,
// on data that is hot and on data that another core has just written.
#pragma once

#include <cstddef>
#include <string>

namespace weir::app {

struct ParallelBenchOptions {
    unsigned threads_max = 0;       // that sum, the caller included; 0: one a core
    std::size_t repetitions = 301;  // calls of each kind, interleaved
    std::string plot;               // an SVG or PNG file; empty: none
    bool json = false;
};

/// The exit code.
[[nodiscard]] int run_bench_parallel(const ParallelBenchOptions& options);

}  // namespace weir::app
