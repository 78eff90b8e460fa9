// SPDX-License-Identifier: Apache-2.0
// Every adler32 kernel beside zlib and libdeflate, hot and from memory; joining; the parallel schemes on
// events that the caller has just written; and what the parallel object costs when it is off.
#include <benchmark/benchmark.h>
#include <zlib.h>
#if defined(WEIR_HAVE_LIBDEFLATE)
#include <libdeflate.h>
#endif

#include <cstring>
#include <string>
#include <vector>

#include "weir/checksum/adler32.hpp"
#include "weir/checksum/kernels.hpp"
#include "weir/checksum/parallel_adler32.hpp"

namespace {

using namespace weir;
using namespace weir::checksum;

constexpr std::int64_t dram_size = 128 << 20;

template <class Sum>
void sum_sizes(const std::string& name, Sum sum) {
    auto* const bench = benchmark::RegisterBenchmark(("adler32/" + name).c_str(), [sum](benchmark::State& state) {
        std::vector<std::byte> data(static_cast<std::size_t>(state.range(0)), std::byte{0xb7});
        std::uint32_t value = 1;
        for (auto _ : state) value = sum(ConstData(data), value);
        benchmark::DoNotOptimize(value);
        state.SetBytesProcessed(state.iterations() * state.range(0));
    });
    for (const std::int64_t size : {64, 1000, 1024, 4096, 32768, 262144}) bench->Arg(size);
    bench->Arg(dram_size);
}

void parallel(Scheme scheme, AdlerKernel kernel) {
    const auto bench_name = "adler32/parallel/" + std::string(name(scheme)) + "/" + std::string(name(kernel));
    auto* const bench = benchmark::RegisterBenchmark(bench_name.c_str(), [=](benchmark::State& state) {
        ParallelOptions options;
        options.threads = static_cast<unsigned>(state.range(1));
        options.cutoff = 1;
        options.scheme = scheme;
        options.kernel = kernel;
        ParallelAdler32 sum(options);
        std::vector<std::byte> event(static_cast<std::size_t>(state.range(0)));
        std::uint32_t value = 1;
        for (auto _ : state) {
            std::memset(event.data(), static_cast<int>(value & 0xff), event.size());
            const auto begin = std::chrono::steady_clock::now();
            value = sum(event, value);
            state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        benchmark::DoNotOptimize(value);
        state.SetBytesProcessed(state.iterations() * state.range(0));
    });
    bench->ArgNames({"bytes", "threads"})->UseManualTime();
    for (const std::int64_t size : {4096, 32768, 131072, 1048576}) bench->Args({size, 0})->Args({size, 1});
}

void combine(benchmark::State& state) {
    std::uint32_t value = 0x12345678;
    std::uint64_t length = 1'073'754'169;
    for (auto _ : state) {
        value = adler32_combine(value, 0x091e01de, length);
        benchmark::DoNotOptimize(length);
    }
    benchmark::DoNotOptimize(value);
}

/// The difference of these two is the price of the feature that is off.
void off_plain(benchmark::State& state) {
    std::vector<std::byte> data(64, std::byte{1});
    std::uint32_t value = 1;
    for (auto _ : state) value = adler32(data, value);
    benchmark::DoNotOptimize(value);
}

void off_parallel(benchmark::State& state) {
    std::vector<std::byte> data(64, std::byte{1});
    ParallelAdler32 sum({});
    std::uint32_t value = 1;
    for (auto _ : state) value = sum(data, value);
    benchmark::DoNotOptimize(value);
}

}  // namespace

int main(int argc, char** argv) {
    const auto features = CpuFeatures::detect();
    for (const auto& kernel : adler32_kernels())
        if (kernel.usable(features)) sum_sizes(std::string(kernel.name), kernel.run);
    sum_sizes("peer-zlib", [](ConstData data, std::uint32_t value) {
        return static_cast<std::uint32_t>(::adler32_z(value, reinterpret_cast<const Bytef*>(data.data()), data.size()));
    });
#if defined(WEIR_HAVE_LIBDEFLATE)
    sum_sizes("peer-libdeflate", [](ConstData data, std::uint32_t value) {
        return static_cast<std::uint32_t>(libdeflate_adler32(value, data.data(), data.size()));
    });
#endif
    benchmark::RegisterBenchmark("adler32/combine", combine);
    benchmark::RegisterBenchmark("adler32/off/plain", off_plain);
    benchmark::RegisterBenchmark("adler32/off/parallel", off_parallel);
    for (const auto kernel : {AdlerKernel::ours, AdlerKernel::zlib})
        for (const auto scheme : {Scheme::thread_per_chunk, Scheme::condition_both_ways, Scheme::condition_then_spin,
                                  Scheme::spin_then_sleep})
            parallel(scheme, kernel);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
