// SPDX-License-Identifier: Apache-2.0
// `weir bench record`: what recording costs, and what checksums add to it (Le Goff and Avolio, figures
// 1 and 5), beside the limits of the machine, in one interleaved run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

struct RecordBenchOptions {
    std::vector<std::string> media{"tmpfs", "disk=."};  // name=directory; "tmpfs": one of our own (root), else /dev/shm
    std::string workload = "atlas2018";
    std::size_t repetitions = 5;
    Bytes bytes_per_run = 2_GiB;
    unsigned connections = 8;
    unsigned checksum_threads_max = 0;  // of `parallel`; 0: one a core
    std::uint64_t seed = 1;
    std::string plot;  // an SVG or PNG file; figure 5 and the bars; empty: none
    bool json = false;
};

/// The exit code.
[[nodiscard]] int run_bench_record(const RecordBenchOptions& options);

}  // namespace weir::app
