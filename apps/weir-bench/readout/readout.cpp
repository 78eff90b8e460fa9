// SPDX-License-Identifier: Apache-2.0
#include "readout/readout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "figures/rows.hpp"
#include "readout/readout_built.hpp"
#include "readout/readout_figures.hpp"
#include "readout/readout_input.hpp"
#include "readout/readout_load.hpp"
#include "readout/readout_triggers.hpp"
#include "readout/readout_waiting.hpp"

namespace weir::app {
namespace {

using readout::WaitStrategy;

constexpr std::array strategies{WaitStrategy::yield, WaitStrategy::spin, WaitStrategy::park};
constexpr std::uint32_t goal_handlers = 12;
constexpr std::chrono::microseconds goal_latency{500};

struct Measured {
    std::vector<double> rates, cpu;
};

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// All points, once in each repetition, so that what else the machine does hits them alike.
std::vector<BenchRow> waiting_rows(const ReadoutBenchOptions& options) {
    std::vector<WaitingCase> cases;
    for (const auto latency : options.latencies) {
        for (const auto handlers : options.handlers)
            for (const auto strategy : strategies)
                cases.push_back({.handlers = handlers, .strategy = strategy, .latency = latency});
        if (latency.count() == 0) cases.push_back({.handlers = 0, .strategy = WaitStrategy::park, .latency = latency});
    }
    std::vector<Measured> measured(cases.size());
    for (std::size_t repetition = 0; repetition < options.repetitions; ++repetition) {
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const auto figures = measure_waiting(cases[i], options.time);
            measured[i].rates.push_back(figures.requests_per_s);
            measured[i].cpu.push_back(figures.cpu_per_request);
        }
        if (!options.json) fmt::print(stderr, "strategies: round {} of {}\n", repetition + 1, options.repetitions);
    }
    std::vector<BenchRow> rows;
    std::map<WaitStrategy, std::pair<double, double>> goal;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const auto& what = cases[i];
        const boost::json::object parameters{{"strategy", what.handlers == 0 ? "none" : name(what.strategy)},
                                             {"handlers", what.handlers},
                                             {"latency", seconds(what.latency)}};
        rows.push_back({.name = "request_rate",
                        .peer = false,
                        .parameters = parameters,
                        .value = spread_of(measured[i].rates),
                        .unit = "requests/s"});
        rows.push_back({.name = "cpu",
                        .peer = false,
                        .parameters = parameters,
                        .value = spread_of(measured[i].cpu),
                        .unit = "s/request"});
        if (what.handlers == goal_handlers && what.latency == goal_latency)
            goal[what.strategy] = {rows[rows.size() - 2].value.median, rows.back().value.median};
    }
    if (goal.size() == strategies.size()) {
        const auto [park_rate, park_cpu] = goal[WaitStrategy::park];
        const double best = std::max({park_rate, goal[WaitStrategy::yield].first, goal[WaitStrategy::spin].first});
        const boost::json::object parameters{{"handlers", goal_handlers}, {"latency", seconds(goal_latency)}};
        const auto add = [&](const char* what, double ratio) {
            rows.push_back({.name = what,
                            .peer = false,
                            .parameters = parameters,
                            .value = {ratio, ratio, ratio, options.repetitions},
                            .unit = "ratio"});
        };
        add("park_rate_to_best", park_rate / best);
        add("park_cpu_to_yield", park_cpu / goal[WaitStrategy::yield].second);
    }
    return rows;
}

ReadoutBenchOptions sized(const ReadoutBenchOptions& given) {
    auto options = given;
    if (!options.quick) return options;
    options.handlers = {1, goal_handlers};
    options.latencies = {std::chrono::microseconds(0), goal_latency};
    options.repetitions = 1;
    options.time = std::chrono::milliseconds(60);
    options.load_time = std::min(options.load_time, std::chrono::milliseconds(400));
    options.input_time = std::min(options.input_time, std::chrono::milliseconds(100));
    options.build_time = std::min(options.build_time, std::chrono::milliseconds(100));
    return options;
}

int fail_with(const Error& error) {
    fmt::print(stderr, "weir bench readout: {}\n", error.message());
    return error.code == Errc::usage ? 2 : 1;
}

}  // namespace

int run_bench_readout(const ReadoutBenchOptions& given) {
    const auto options = sized(given);
    if (options.repetitions == 0 || options.time.count() <= 0)
        return fail_with({Errc::usage, 0, "at least one repetition of at least 1 ms is needed"});
    const auto machine = Machine::here();
    if (!options.json) print_machine(machine);
    auto rows = waiting_rows(options);
    if (options.load_time.count() > 0) {
        auto load = load_rows(options);
        if (!load) return fail_with(load.error());
        std::ranges::move(*load, std::back_inserter(rows));
    }
    if (options.input_time.count() > 0) {
        auto input = input_rows(options);
        if (!input) return fail_with(input.error());
        std::ranges::move(*input, std::back_inserter(rows));
    }
    if (options.build_time.count() > 0) {
        auto built = built_rows(options);
        if (!built) return fail_with(built.error());
        std::ranges::move(*built, std::back_inserter(rows));
        if (options.inputs.empty()) {
            auto triggers = trigger_rows(options);
            if (!triggers) return fail_with(triggers.error());
            std::ranges::move(*triggers, std::back_inserter(rows));
        }
    }
    if (options.json) {
        fmt::print("{}\n", boost::json::serialize(bench_document("readout", machine, rows)));
    } else {
        print_readout_rows(rows);
    }
    if (options.plot.empty()) return 0;
    if (auto drawn = draw_readout_rows(options.plot, rows, machine); !drawn) return fail_with(drawn.error());
    if (!options.json) fmt::print("drawn: {}\n", options.plot);
    return 0;
}

}  // namespace weir::app
