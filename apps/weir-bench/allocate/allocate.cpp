// SPDX-License-Identifier: Apache-2.0
#include "allocate/allocate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>

#include "allocate/allocate_candidates.hpp"
#include "allocate/allocate_figures.hpp"
#include "allocate/allocate_rows.hpp"
#include "allocate/allocate_worker.hpp"
#include "weir/base/suggest.hpp"

namespace weir::app {
namespace {

struct Entrant {
    const AllocateCandidate* candidate;
    std::string file;  // loaded before it; empty: nothing is
};

/// 1, 2, 4, ... and all processors.
std::vector<unsigned> threads_here() {
    const unsigned all = std::max(1U, std::thread::hardware_concurrency());
    std::vector<unsigned> threads;
    for (unsigned n = 1; n < all; n *= 2) threads.push_back(n);
    threads.push_back(all);
    return threads;
}

/// What is wrong with the options; empty: nothing.
std::string complaint(const AllocateBenchOptions& options) {
    std::vector<std::string> names;
    for (const auto& candidate : allocate_candidates()) names.push_back(candidate.name);
    for (const auto& name : options.allocators)
        if (allocate_candidate(name) == nullptr)
            return fmt::format("--allocator: \"{}\" is not one of {}{}", name, fmt::join(names, ", "),
                               did_you_mean(name, names));
    if (options.repetitions == 0 || options.time < std::chrono::milliseconds(20) ||
        options.time > std::chrono::hours(1) || options.seconds > 86400)
        return "--repetitions must be 1 at least, --time 20ms to 1h, --seconds a day at most";
    if (std::ranges::any_of(options.threads, [](unsigned threads) { return threads < 1 || threads > 1024; }))
        return "--threads must be 1 to 1024";
    if (options.memory_max < 64_MiB) return "--memory-max must be 64MiB at least";
    return {};
}

/// In every round all allocators of a point one after the other, so that what else the machine does hits them alike.
Result<AllocateRuns> measure(const AllocateBenchOptions& options, const std::vector<Entrant>& entrants) {
    AllocateRuns runs;
    const auto run_all = [&](const char* pattern, unsigned threads) -> Result<> {
        for (const auto& [candidate, file] : entrants) {
            auto report = WEIR_TRY(
                measure_allocate(candidate->name, file, pattern,
                                 {.threads = threads, .time = options.time, .memory_max = options.memory_max}));
            runs.short_runs[{candidate->name, pattern, threads}].push_back(std::move(report));
        }
        return {};
    };
    for (std::size_t round = 0; round < options.repetitions; ++round) {
        for (const auto threads : options.threads) WEIR_TRY(run_all(pattern_private, threads));
        WEIR_TRY(run_all(pattern_passed, 2));
        if (!options.json) fmt::print(stderr, "round {} of {}\n", round + 1, options.repetitions);
    }
    const std::chrono::milliseconds memory_time =
        options.quick ? options.time * 5 : std::chrono::seconds(options.seconds);
    if (memory_time.count() == 0) return runs;
    for (std::size_t i = 0; i < entrants.size(); ++i) {
        const auto& [candidate, file] = entrants[i];
        if (!options.json) fmt::print(stderr, "memory of {}, {} of {}\n", candidate->name, i + 1, entrants.size());
        auto report = WEIR_TRY(measure_allocate(candidate->name, file, pattern_passed,
                                                {.threads = 2, .time = memory_time, .memory_max = options.memory_max}));
        runs.long_runs[candidate->name] = std::move(report);
    }
    return runs;
}

}  // namespace

int run_bench_allocate(const AllocateBenchOptions& given) {
    auto options = given;
    if (options.quick) {
        options.repetitions = 1;
        options.time = std::chrono::milliseconds(40);
        options.memory_max = 256_MiB;
    }
    if (options.threads.empty()) options.threads = options.quick ? std::vector<unsigned>{1, 2} : threads_here();
    if (const auto wrong = complaint(options); !wrong.empty()) {
        fmt::print(stderr, "weir bench: {}\n", wrong);
        return 2;
    }
    if (!options.worker.empty()) {
        if (options.allocators.size() != 1 || options.threads.size() != 1) return 2;
        return run_allocate_worker(
            options.allocators.front(), options.worker,
            {.threads = options.threads.front(), .time = options.time, .memory_max = options.memory_max});
    }
    std::vector<Entrant> entrants;
    std::vector<std::string> not_installed;
    for (const auto& candidate : allocate_candidates()) {
        if (!options.allocators.empty() &&
            std::ranges::find(options.allocators, candidate.name) == options.allocators.end())
            continue;
        const auto file =
            candidate.files.empty() ? std::optional<std::string>(std::in_place) : installed_of(candidate.files);
        if (!file) {
            not_installed.push_back(candidate.name);
        } else {
            entrants.push_back({&candidate, *file});
        }
    }
    const auto runs = measure(options, entrants);
    if (!runs) {
        fmt::print(stderr, "weir bench: {}\n", runs.error().message());
        return 1;
    }
    const auto rows = allocate_rows(*runs);
    const auto machine = Machine::here();
    if (options.json) {
        boost::json::array absent(not_installed.begin(), not_installed.end());
        fmt::print("{}\n", boost::json::serialize(bench_document("allocate", machine, rows,
                                                                 {{"repetitions", options.repetitions},
                                                                  {"not_installed", std::move(absent)},
                                                                  {"memory", memory_series(*runs, 120)}})));
    } else {
        print_machine(machine);
        print_allocate_rows(rows, not_installed);
    }
    if (options.plot.empty()) return 0;
    if (auto drawn = draw_allocate_rows(options.plot, rows, *runs, machine); !drawn) {
        fmt::print(stderr, "weir bench: {}\n", drawn.error().message());
        return drawn.error().code == Errc::usage ? 2 : 1;
    }
    if (!options.json) fmt::print("drawn: {}\n", options.plot);
    return 0;
}

}  // namespace weir::app
