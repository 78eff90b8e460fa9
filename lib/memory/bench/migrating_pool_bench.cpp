// SPDX-License-Identifier: Apache-2.0
// The containers of an event, made and destroyed: a list of 30 numbers, a map of 20, a vector of 10 strings. Private:
// every thread keeps 64 live events. Migrating: one thread makes, the other destroys, with 256 events between them.
// `items` are inserts and erases (120 an event) of all threads together. `weir bench allocate` has more peers.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <barrier>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weir/memory/migrating_pool.hpp"

namespace weir::memory {
namespace {

template <template <class> class Allocator>
struct Event {
    using String = std::basic_string<char, std::char_traits<char>, Allocator<char>>;
    std::list<int, Allocator<int>> list;
    std::map<int, int, std::less<>, Allocator<std::pair<const int, int>>> map;
    std::vector<String, Allocator<String>> strings;

    explicit Event(const Allocator<int>& allocator) : list(allocator), map(allocator), strings(allocator) {
        for (int i = 0; i < 30; ++i) list.push_back(i);
        for (int i = 0; i < 20; ++i) map.emplace((i * 7) % 20, i);
        for (int i = 0; i < 10; ++i) strings.emplace_back("a string of an event, too long to lie in place", allocator);
    }
};
constexpr std::int64_t operations = 120;

template <template <class> class Allocator>
void private_work(benchmark::State& state, const Allocator<int>& allocator) {
    std::array<std::optional<Event<Allocator>>, 64> live;
    std::size_t next = 0;
    for (auto _ : state) {
        live[next].emplace(allocator);
        next = (next + 1) % live.size();
    }
    state.SetItemsProcessed(state.iterations() * operations);
}

template <template <class> class Allocator>
void migrating_work(benchmark::State& state, const Allocator<int>& allocator) {
    constexpr std::size_t ring_size = 256;
    std::vector<std::optional<Event<Allocator>>> ring(ring_size);
    alignas(128) std::atomic<std::uint64_t> made{0};       // released by the maker, acquired by the destroyer
    alignas(128) std::atomic<std::uint64_t> destroyed{0};  // the other way
    std::jthread destroyer([&](const std::stop_token& stop) {
        for (std::uint64_t done = 0;;) {
            if (made.load(std::memory_order_acquire) == done) {
                if (stop.stop_requested() && made.load(std::memory_order_acquire) == done) return;
                continue;
            }
            ring[done % ring_size].reset();
            destroyed.store(++done, std::memory_order_release);
        }
    });
    std::uint64_t count = 0;
    for (auto _ : state) {
        while (count - destroyed.load(std::memory_order_acquire) == ring_size) {
        }
        ring[count % ring_size].emplace(allocator);
        made.store(++count, std::memory_order_release);
    }
    destroyer.request_stop();
    destroyer.join();
    state.SetItemsProcessed(state.iterations() * operations);
}

MigratingPool pool;

void migrating_pool_private(benchmark::State& state) {
    const auto before = pool.stats();
    private_work<MigratingAllocator>(state, MigratingAllocator<int>(pool));
    if (state.thread_index() == 0) {
        const auto after = pool.stats();
        state.counters["corrections"] = static_cast<double>(after.corrections - before.corrections);
        state.counters["MB"] = static_cast<double>(after.from_upstream.count()) / 1e6;
    }
}
void std_allocator_private(benchmark::State& state) { private_work<std::allocator>(state, {}); }
void migrating_pool_migrating(benchmark::State& state) {
    const auto before = pool.stats();
    migrating_work<MigratingAllocator>(state, MigratingAllocator<int>(pool));
    const auto after = pool.stats();
    state.counters["corrections"] = static_cast<double>(after.corrections - before.corrections);
    state.counters["MB"] = static_cast<double>(after.from_upstream.count()) / 1e6;
}
void std_allocator_migrating(benchmark::State& state) { migrating_work<std::allocator>(state, {}); }

BENCHMARK(std_allocator_private)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(migrating_pool_private)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(std_allocator_migrating)->UseRealTime();
BENCHMARK(migrating_pool_migrating)->UseRealTime();

}  // namespace
}  // namespace weir::memory

BENCHMARK_MAIN();
