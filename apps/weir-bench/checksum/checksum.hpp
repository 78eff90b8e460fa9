// SPDX-License-Identifier: Apache-2.0
// `weir bench checksum`: every algorithm beside the libraries that are installed or given and the limits of the
// machine; copying and summing in one pass; joining sums.
#pragma once

#include <string>
#include <vector>

#include "weir/base/bytes.hpp"

namespace weir::app {

struct ChecksumBenchOptions {
    std::vector<std::string> algorithms;  // empty: all
    std::vector<std::string> peers;       // NAME=FILE: instead of the one that is installed
    std::vector<Bytes> sizes{16_B, 64_B, 256_B, 1_KiB, 4_KiB, 32_KiB, 256_KiB, 1_MiB};
    std::vector<std::string> places;  // "memory", "core": the same sizes again, from there
    std::size_t repetitions = 9;      // interleaved
    Bytes dram = 1_GiB;               // what stands for memory; beyond the caches, of which there are some of 256 MiB
    std::string directory = ".";      // where a file is written and read
    Bytes file = 256_MiB;             // its size; 0: none
    std::string plot;                 // an SVG or PNG file; empty: none
    bool json = false;
};

/// The exit code.
[[nodiscard]] int run_bench_checksum(const ChecksumBenchOptions& options);

}  // namespace weir::app
