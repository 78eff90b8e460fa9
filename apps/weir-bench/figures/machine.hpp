// SPDX-License-Identifier: Apache-2.0
// What a measured figure needs beside it: the machine, the build, the kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::app {

struct Machine {
    std::string processor, kernel, compiler, kernels;  // kernels: the checksum implementations in use
    unsigned cores = 0, threads = 0;                   // physical, and with SMT siblings
    std::uint64_t memory_bytes = 0;

    [[nodiscard]] static Machine here();
};

/// User and system time of this process so far, all threads.
[[nodiscard]] std::chrono::nanoseconds cpu_time();

struct Spread {
    double median = 0, low = 0, high = 0;
    std::size_t runs = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

}  // namespace weir::app
