// SPDX-License-Identifier: Apache-2.0
// Every kernel of every CRC, hot and from memory (ISA-L's are kernels of ours), zlib as a peer, and joining.
#include <benchmark/benchmark.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "weir/checksum/cksum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"
#include "weir/checksum/kernels.hpp"

namespace {

using namespace weir;
using namespace weir::checksum;

template <class Sum>
void sum_sizes(const std::string& name, Sum sum) {
    auto* const bench = benchmark::RegisterBenchmark(name.c_str(), [sum](benchmark::State& state) {
        const std::vector<std::byte> data(static_cast<std::size_t>(state.range(0)), std::byte{0xb7});
        auto value = sum(ConstData(data), 0);
        for (auto _ : state) value = sum(ConstData(data), value);
        benchmark::DoNotOptimize(value);
        state.SetBytesProcessed(state.iterations() * state.range(0));
    });
    for (const std::int64_t size : {64, 1024, 4096, 32768, 262144, 1 << 20, 128 << 20}) bench->Arg(size);
}

template <class Kernels>
void sum_kernels(const std::string& name, Kernels kernels) {
    for (const auto& kernel : kernels)
        if (kernel.usable(CpuFeatures::detect())) sum_sizes(name + "/" + std::string(kernel.name), kernel.run);
}

template <class Word>
using Combine = Word (*)(Word, Word, std::uint64_t) noexcept;

/// Each call waits for the one before, as a stream of parts does.
template <class Word, class Prepared>
void joining(const std::string& name, Combine<Word> combine, Prepared prepared) {
    benchmark::RegisterBenchmark((name + "/combine").c_str(), [combine](benchmark::State& state) {
        Word value = 0x12345678;
        std::uint64_t length = 1'073'754'169;
        for (auto _ : state) {
            value = combine(value, 0x69283abc, length);
            benchmark::DoNotOptimize(length);
        }
        benchmark::DoNotOptimize(value);
    });
    benchmark::RegisterBenchmark((name + "/combine-prepared").c_str(), [prepared](benchmark::State& state) {
        Word value = 0x12345678;
        for (auto _ : state) value = prepared(value, 0x69283abc);
        benchmark::DoNotOptimize(value);
    });
}

void cksum_joining(benchmark::State& state) {
    std::uint32_t value = 0x12345678;
    std::uint64_t length = 1'073'754'169;
    for (auto _ : state) {
        value = cksum_combine(value, length, 0x69283abc, length);
        benchmark::DoNotOptimize(length);
    }
    benchmark::DoNotOptimize(value);
}

void self_testing(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(self_test().has_value());
}

}  // namespace

int main(int argc, char** argv) {
    sum_kernels("crc32", crc32_kernels());
    sum_sizes("crc32/peer-zlib", [](ConstData data, std::uint32_t value) {
        return static_cast<std::uint32_t>(::crc32_z(value, reinterpret_cast<const Bytef*>(data.data()), data.size()));
    });
    sum_kernels("crc32c", crc32c_kernels());
    sum_kernels("cksum", cksum_kernels());
    sum_sizes("cksum/with-its-length", [](ConstData data, std::uint32_t) { return checksum::cksum(data); });
    sum_kernels("crc64-xz", crc64_xz_kernels());
    sum_kernels("crc64-nvme", crc64_nvme_kernels());
    sum_kernels("crc64-ecma182", crc64_ecma182_kernels());

    joining<std::uint32_t>("crc32", crc32_combine, Crc32Combiner(4096));
    joining<std::uint32_t>("crc32c", crc32c_combine, Crc32cCombiner(4096));
    joining<std::uint32_t>("cksum", cksum_combine_running, CksumCombiner(4096));
    joining<std::uint64_t>("crc64-xz", crc64_xz_combine, Crc64Combiner(Crc64::xz, 4096));
    joining<std::uint64_t>("crc64-nvme", crc64_nvme_combine, Crc64Combiner(Crc64::nvme, 4096));
    joining<std::uint64_t>("crc64-ecma182", crc64_ecma182_combine, Crc64Combiner(Crc64::ecma182, 4096));
    benchmark::RegisterBenchmark("cksum/combine-finished", cksum_joining);
    benchmark::RegisterBenchmark("self-test", self_testing);

    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
