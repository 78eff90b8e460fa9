// SPDX-License-Identifier: Apache-2.0
// One point of figure 5: a readout without a network, asked by one thread for data that comes a set time after they
// were asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "weir/readout/request_handlers.hpp"

namespace weir::app {

struct WaitingCase {
    std::uint32_t handlers = 1;  // 0: none, the thread that asks makes the answers itself
    readout::WaitStrategy strategy = readout::WaitStrategy::park;
    std::chrono::nanoseconds latency{0};  // 0: the data are there
};

struct WaitingFigures {
    double requests_per_s = 0;
    double cpu_per_request =
        0;  // seconds of all threads of this process, the asking one and the simulated detector too
};

[[nodiscard]] WaitingFigures measure_waiting(const WaitingCase& what, std::chrono::nanoseconds time);

}  // namespace weir::app
