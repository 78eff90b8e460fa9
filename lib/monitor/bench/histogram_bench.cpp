// SPDX-License-Identifier: Apache-2.0
// Fills of one thread: bins of one width and of several, one and two axes, with weights and without.
#include <benchmark/benchmark.h>

#include <random>

#include "weir/monitor/histogram.hpp"

namespace {

using namespace weir::monitor;

std::vector<double> values() {
    std::mt19937 random(1);
    std::normal_distribution<double> shape(50, 20);
    std::vector<double> all(4096);
    for (auto& value : all) value = shape(random);
    return all;
}

template <class Fill>
void fills(benchmark::State& state, Fill&& fill) {
    const auto all = values();
    for (auto _ : state)
        for (const auto value : all) fill(value);
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
}

Axis edges(std::uint32_t bins) {
    std::vector<double> all;
    for (std::uint32_t i = 0; i <= bins; ++i) all.push_back(100.0 * i * i / bins / bins);
    return Axis(std::move(all));
}

void one_axis(benchmark::State& state) {
    Histogram1D h("h", "", {100, 0, 100});
    fills(state, [&](double value) { h.fill(value); });
}
void one_axis_weighted(benchmark::State& state) {
    Histogram1D h("h", "", {100, 0, 100});
    fills(state, [&](double value) { h.fill(value, 0.5); });
}
void one_axis_edges(benchmark::State& state) {
    Histogram1D h("h", "", edges(100));
    fills(state, [&](double value) { h.fill(value); });
}
void two_axes(benchmark::State& state) {
    Histogram2D h("h", "", {100, 0, 100}, {100, 0, 100});
    fills(state, [&](double value) { h.fill(value, 100 - value); });
}

BENCHMARK(one_axis);
BENCHMARK(one_axis_weighted);
BENCHMARK(one_axis_edges);
BENCHMARK(two_axes);

}  // namespace

BENCHMARK_MAIN();
