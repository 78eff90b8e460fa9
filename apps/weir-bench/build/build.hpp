// SPDX-License-Identifier: Apache-2.0
// `weir bench build`: what a builder takes in against the size of events and fragments, the number of sources, loss and
// traffic shaping (Gadomski et al., figure 3 and the sections around it), beside what its sockets can do without it.
#pragma once

#include <string>
#include <vector>

namespace weir::app {

struct BuildBenchOptions {
    std::size_t repetitions = 5;
    std::vector<std::string> series{};  // of "size", "sources", "loss", "wakes", "output", "line", "rate"; empty: all
    bool quick = false;
    std::string plot;  // an SVG or PNG file: figure 3; empty: none
    bool json = false;
};

/// The exit code.
[[nodiscard]] int run_bench_build(const BuildBenchOptions& options);

}  // namespace weir::app
