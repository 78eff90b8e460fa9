// SPDX-License-Identifier: Apache-2.0
// What it costs to note the id of an event of which a selection rejected `rejected` of 1000 at random, `spread` ids out
// of order; and, of such a set, its text.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "weir/wire/event_id_set.hpp"

namespace {

using namespace weir;
using namespace weir::wire;

std::vector<GlobalEventId> ids_of(std::uint64_t events, std::uint64_t rejected, std::uint64_t spread) {
    std::mt19937_64 random(1);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> keys;
    for (std::uint64_t n = 0; n < events; ++n) {
        if (random() % 1000 >= rejected) keys.emplace_back(n + random() % spread, n);
    }
    std::ranges::sort(keys);
    std::vector<GlobalEventId> ids;
    for (const auto& key : keys) ids.push_back(GlobalEventId{key.second});
    return ids;
}

void an_id_is_noted(benchmark::State& state) {
    const auto ids =
        ids_of(1'000'000, static_cast<std::uint64_t>(state.range(0)), static_cast<std::uint64_t>(state.range(1)));
    EventIdSet set;
    for (auto _ : state) {
        set = {};
        for (const auto id : ids) benchmark::DoNotOptimize(set.insert(id));
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(ids.size()));
    state.counters["bytes_an_id"] = double(set.memory()) / double(ids.size());
    state.counters["characters_an_id"] = double(to_text(set).size()) / double(ids.size());
}
BENCHMARK(an_id_is_noted)
    ->ArgNames({"rejected", "spread"})
    ->ArgsProduct({{0, 1, 100, 500, 900, 990}, {1, 5000}})
    ->Unit(benchmark::kMillisecond);

void its_text(benchmark::State& state) {
    EventIdSet set;
    for (const auto id : ids_of(1'000'000, static_cast<std::uint64_t>(state.range(0)), 1)) set.insert(id);
    for (auto _ : state) benchmark::DoNotOptimize(to_text(set));
}
BENCHMARK(its_text)->ArgName("rejected")->Arg(1)->Arg(500)->Arg(990)->Unit(benchmark::kMicrosecond);

void its_text_is_read(benchmark::State& state) {
    EventIdSet set;
    for (const auto id : ids_of(1'000'000, static_cast<std::uint64_t>(state.range(0)), 1)) set.insert(id);
    const auto text = to_text(set);
    for (auto _ : state) benchmark::DoNotOptimize(parse_event_ids(text, std::size_t{1} << 30));
}
BENCHMARK(its_text_is_read)->ArgName("rejected")->Arg(1)->Arg(500)->Arg(990)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
