// SPDX-License-Identifier: Apache-2.0
// Histograms of every form, filled at random.
#pragma once

#include <random>
#include <vector>

#include "weir/monitor/histogram.hpp"

namespace weir::monitor::test {

inline std::vector<Histogram> sample_histograms() {
    std::mt19937 random(11);
    std::normal_distribution<double> values(5, 3);
    Histogram1D plain("plain", "no weights;x [mm];events", {20, 0, 10}),
        weighted("weighted", "weights", Axis::of_edges({0, 1, 2, 5, 10}));
    Histogram2D two("two", "two axes;x;y;z", {5, 0, 10}, Axis::of_edges({0, 3, 4, 10})),
        empty("empty", "", {1, -1, 1}, {2, 0, 1});
    for (int i = 0; i < 1000; ++i) {
        plain.fill(values(random));
        weighted.fill(values(random), i % 7 == 0 ? -0.5 : 1.25);
        two.fill(values(random), values(random), i % 2 + 1);
    }
    return {plain, weighted, two, empty};
}

}  // namespace weir::monitor::test
