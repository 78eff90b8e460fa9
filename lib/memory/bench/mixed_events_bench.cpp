// SPDX-License-Identifier: Apache-2.0
// Events of mixed size that are made in one thread and freed in another, as a receiver hands them to a worker:
// fragments with their words, a map, texts. With a MigratingPool, and with the malloc of the process, which LD_PRELOAD
// can make that of others. Threads that have nothing to do sleep, so that the processor time is that of making and
// freeing.
#include <benchmark/benchmark.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory_resource>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "weir/memory/migrating_pool.hpp"

namespace {

using Resource = std::pmr::memory_resource;

struct Fragment {
    using allocator_type = std::pmr::polymorphic_allocator<>;
    explicit Fragment(std::size_t count, const allocator_type& memory) : words(count, 1U, memory) {}
    Fragment(Fragment&& other, const allocator_type& memory) : words(std::move(other.words), memory) {}
    std::pmr::vector<std::uint32_t> words;
};

/// 4 to 67 fragments, most of them of 40 to 300 bytes, one of 16 of up to 4 KiB: 5 kB in the mean, 1 to 30 kB.
class Event {
public:
    Event(Resource& memory, std::uint32_t seed) : fragments_(&memory), cells_(&memory), names_(&memory) {
        auto random = [seed]() mutable { return (seed = seed * 1664525U + 1013904223U) >> 8; };
        const auto all = 4 + random() % 8 * (random() % 10);
        for (std::uint32_t i = 0; i < all; ++i)
            fragments_.emplace_back(10 + (random() % 16 == 0 ? random() % 1000 : random() % 64));
        for (std::uint32_t i = random() % 30; i > 0; --i) cells_.emplace(random(), 1.0F);
        for (std::uint32_t i = random() % 6; i > 0; --i) names_.emplace_back(20 + random() % 60, 'x');
    }

private:
    std::pmr::list<Fragment> fragments_;
    std::pmr::map<std::uint32_t, float> cells_;
    std::pmr::vector<std::pmr::string> names_;
};

/// Up to four batches in flight; an empty one is the last.
class Handover {
public:
    void give(std::deque<Event> batch) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return batches_.size() < 4; });
        batches_.push_back(std::move(batch));
        changed_.notify_one();
    }
    std::deque<Event> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !batches_.empty(); });
        auto batch = std::move(batches_.front());
        batches_.pop_front();
        changed_.notify_one();
        return batch;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::deque<Event>> batches_;
};

void make_here_and_free_there(benchmark::State& state, Resource& memory) {
    constexpr int batches = 200, events = 64;
    std::uint32_t seed = 1;
    for (auto _ : state) {
        Handover handover;
        std::jthread consumer([&] {
            while (!handover.take().empty()) {
            }
        });
        for (int batch = 0; batch < batches; ++batch) {
            std::deque<Event> made;
            for (int i = 0; i < events; ++i) made.emplace_back(memory, seed++);
            handover.give(std::move(made));
        }
        handover.give({});
    }
    state.SetItemsProcessed(state.iterations() * batches * events);
}

void malloc_of_the_process(benchmark::State& state) {
    make_here_and_free_there(state, *std::pmr::new_delete_resource());
}

void migrating_pool(benchmark::State& state) {
    weir::memory::MigratingPool pool;
    make_here_and_free_there(state, pool);
}

BENCHMARK(malloc_of_the_process)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(migrating_pool)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
