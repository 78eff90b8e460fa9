// SPDX-License-Identifier: Apache-2.0
// What it costs an event to be taken once by its id, from its arrival to its end: two short locks. `spread`: how far
// the ids that follow each other are out of order, as from that many builders.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "settlement/unique_events.hpp"

namespace {

using namespace weir;
using namespace weir::recorder;

std::vector<GlobalEventId> ids_out_of_order(std::size_t count, std::uint64_t spread) {
    std::mt19937_64 random(1);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> keys;
    for (std::uint64_t n = 0; n < count; ++n) keys.emplace_back(n + random() % spread, n);
    std::ranges::sort(keys);
    std::vector<GlobalEventId> ids;
    for (const auto& key : keys) ids.push_back(GlobalEventId{key.second});
    return ids;
}

void an_event_is_taken_once(benchmark::State& state) {
    const auto ids = ids_out_of_order(1'000'000, static_cast<std::uint64_t>(state.range(0)));
    constexpr std::size_t in_hand = 5000;  // events until the sync that makes the first of them durable
    for (auto _ : state) {
        UniqueEvents events(512_MiB);
        UniqueEvents::Left left;
        for (std::size_t i = 0; i < ids.size() + in_hand; ++i) {
            if (i < ids.size()) benchmark::DoNotOptimize(events.take(ids[i], 1, left));
            if (i >= in_hand) benchmark::DoNotOptimize(events.durable(ids[i - in_hand]));
        }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(ids.size()));
}
BENCHMARK(an_event_is_taken_once)
    ->ArgName("spread")
    ->Arg(1)
    ->Arg(100)
    ->Arg(5000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
