// SPDX-License-Identifier: Apache-2.0
#include "select/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "figures/rows.hpp"
#include "select/select_figures.hpp"
#include "select/select_partition.hpp"
#include "weir/selection/selector.hpp"

namespace weir::app {
namespace {

constexpr std::uint32_t steps_max = selection::FragmentRequests::requests_max;

/// All points, once in each repetition, so that what else the machine does hits them alike.
Result<std::vector<BenchRow>> select_rows(const SelectBenchOptions& options) {
    std::vector<SelectCase> cases;
    for (const auto latency : options.latencies)
        for (const auto workers : options.workers)
            cases.push_back(
                {.workers = workers, .depth = options.depth, .latency = latency, .selection = options.selection});
    if (options.steps > 0)
        for (const auto latency : options.latencies)
            for (const auto workers : options.workers)
                cases.push_back({.workers = workers,
                                 .depth = options.depth,
                                 .latency = latency,
                                 .selection = selection_in_steps(options.steps),
                                 .steps = options.steps});
    std::vector<std::vector<SelectFigures>> measured(cases.size());
    for (std::size_t repetition = 0; repetition < options.repetitions; ++repetition) {
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const auto figures = WEIR_TRY(measure_select(cases[i], options.time));
            measured[i].push_back(figures);
        }
        if (!options.json) fmt::print(stderr, "round {} of {}\n", repetition + 1, options.repetitions);
    }
    std::vector<BenchRow> rows;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        boost::json::object parameters{{"workers", cases[i].workers},
                                       {"latency", std::chrono::duration<double>(cases[i].latency).count()},
                                       {"depth", cases[i].depth},
                                       {"selection", cases[i].selection}};
        const bool stepped = cases[i].steps > 0;
        if (stepped) parameters["steps"] = cases[i].steps;
        const auto add = [&](const char* name, double SelectFigures::* figure, const char* unit) {
            std::vector<double> values;
            for (const auto& figures : measured[i]) values.push_back(figures.*figure);
            rows.push_back(
                {.name = name, .peer = false, .parameters = parameters, .value = spread_of(values), .unit = unit});
        };
        add(stepped ? "stepped_event_rate" : "event_rate", &SelectFigures::events_per_s, "events/s");
        add(stepped ? "stepped_cpu" : "cpu", &SelectFigures::cpu_per_event, "s/event");
        add(stepped ? "stepped_decision_time" : "decision_time", &SelectFigures::decision_seconds, "s");
    }
    return rows;
}

}  // namespace

int run_bench_select(const SelectBenchOptions& given) {
    auto options = given;
    if (options.quick) {
        options.workers = {1, 8};
        options.latencies = {std::chrono::microseconds(0), std::chrono::milliseconds(5)};
        options.repetitions = 1;
        options.time = std::chrono::milliseconds(100);
    }
    if (options.workers.empty() || options.latencies.empty() || options.repetitions == 0 || options.depth == 0 ||
        options.steps > steps_max ||
        std::ranges::any_of(options.workers, [](auto workers) { return workers < 1 || workers > 1024; })) {
        fmt::print(stderr,
                   "weir bench: --workers must be 1 to 1024, and --repetitions and --depth 1 at least, --steps "
                   "{} at most\n",
                   steps_max);
        return 2;
    }
    if (auto known = selection::Selection::open({.selection = options.selection}); !known) {
        fmt::print(stderr, "weir bench: {}\n", known.error().message());
        return 2;
    }
    const auto rows = select_rows(options);
    if (!rows) {
        fmt::print(stderr, "weir bench: {}\n", rows.error().message());
        return 1;
    }
    const auto machine = Machine::here();
    if (options.json) {
        fmt::print("{}\n", boost::json::serialize(
                               bench_document("select", machine, *rows, {{"repetitions", options.repetitions}})));
    } else {
        print_machine(machine);
        print_select_rows(*rows);
    }
    if (options.plot.empty()) return 0;
    if (auto drawn = draw_select_rows(options.plot, *rows, machine); !drawn) {
        fmt::print(stderr, "weir bench: {}\n", drawn.error().message());
        return drawn.error().code == Errc::usage ? 2 : 1;
    }
    if (!options.json) fmt::print("drawn: {}\n", options.plot);
    return 0;
}

}  // namespace weir::app
