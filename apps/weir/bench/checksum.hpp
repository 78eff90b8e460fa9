// SPDX-License-Identifier: Apache-2.0
// `weir bench checksum`: every algorithm beside the libraries that are installed and the limits of the
// machine; copying and summing in one pass; joining sums.
#pragma once

#include <string>
#include <vector>

#include "weir/base/bytes.hpp"

namespace weir::app {

struct ChecksumBenchOptions {
    std::vector<std::string> algorithms;  // empty: all
    std::size_t repetitions = 9;          // interleaved
    Bytes dram = 1_GiB;                   // what stands for memory; beyond the caches, of which there are some of 256 MiB
    std::string directory = ".";          // where a file is written and read
    Bytes file = 256_MiB;                 // its size; 0: none
    std::string plot;                     // an SVG or PNG file; empty: none
    bool json = false;
};

/// The exit code.
[[nodiscard]] int run_bench_checksum(const ChecksumBenchOptions& options);

}  // namespace weir::app
