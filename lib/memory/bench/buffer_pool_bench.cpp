// SPDX-License-Identifier: Apache-2.0
// What a buffer costs when its memory is touched for the first time, in ordinary and in huge pages: every round takes a
// buffer from a new pool and writes to each page of 4 KiB. `faults` are page faults of a round. Warm: the pool keeps
// the buffer between the rounds, as it does in a running station.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <optional>

#include "weir/memory/buffer_pool.hpp"

namespace weir::memory {
namespace {

std::int64_t page_faults() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

void touch(Buffer& buffer) {
    for (std::size_t at = 0; at < buffer.size(); at += BufferPool::alignment) buffer.data()[at] = std::byte{1};
    benchmark::ClobberMemory();
}

void first_touch(benchmark::State& state, HugePages huge_pages) {
    const auto size = static_cast<std::size_t>(state.range(0)) << 20;
    const auto before = page_faults();
    for (auto _ : state) {
        BufferPool pool(Bytes{size}, huge_pages);
        auto buffer = pool.try_take(size);
        touch(*buffer);
    }
    state.counters["faults"] =
        benchmark::Counter(static_cast<double>(page_faults() - before), benchmark::Counter::kAvgIterations);
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

void warm(benchmark::State& state, HugePages huge_pages) {
    const auto size = static_cast<std::size_t>(state.range(0)) << 20;
    BufferPool pool(Bytes{size}, huge_pages);
    if (auto buffer = pool.try_take(size)) touch(*buffer);
    for (auto _ : state) {
        auto buffer = pool.try_take(size);
        touch(*buffer);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

BENCHMARK_CAPTURE(first_touch, ordinary, HugePages::none)
    ->RangeMultiplier(2)
    ->Range(1, 64)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(first_touch, huge, HugePages::transparent)
    ->RangeMultiplier(2)
    ->Range(1, 64)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(warm, ordinary, HugePages::none)->RangeMultiplier(4)->Range(1, 64)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(warm, huge, HugePages::transparent)->RangeMultiplier(4)->Range(1, 64)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weir::memory

BENCHMARK_MAIN();
