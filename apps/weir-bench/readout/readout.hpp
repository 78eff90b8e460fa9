// SPDX-License-Identifier: Apache-2.0
// `weir bench readout`: how request handlers should wait for data (figure 5 of the ATLAS DataFlow paper: request rate
// and CPU against handlers, for each strategy and latency of the data), the published load of a readout over real
// sockets, and what comes in from outside.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bytes.hpp"

namespace weir::app {

struct ReadoutBenchOptions {
    std::vector<std::uint32_t> handlers{1, 2, 4, 8, 12, 16};
    std::vector<std::chrono::nanoseconds> latencies{std::chrono::microseconds(0), std::chrono::microseconds(50),
                                                    std::chrono::microseconds(500), std::chrono::milliseconds(5)};
    std::size_t repetitions = 5;
    std::chrono::milliseconds time{200};         // of one run of figure 5
    std::chrono::milliseconds load_time{3000};   // of one run of the published load; 0: not measured
    std::chrono::milliseconds input_time{1000};  // of one run of fragments from outside; 0: not measured
    std::chrono::milliseconds build_time{1000};  // of one run of these with building behind; 0: not measured
    std::vector<std::string> inputs{};           // of these two, only those with one of these names; empty: all
    bool quick = false;                          // a few points of each, in less than 3 s
    std::string plot;                            // an SVG or PNG file; empty: none
    bool json = false;

    [[nodiscard]] bool measures(std::string_view input) const {
        return inputs.empty() || std::ranges::find(inputs, input) != inputs.end();
    }
};

/// The exit code.
[[nodiscard]] int run_bench_readout(const ReadoutBenchOptions& options);

}  // namespace weir::app
