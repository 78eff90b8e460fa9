// SPDX-License-Identifier: Apache-2.0
// BLAKE3 in every kernel, and by two threads as lib/fixity sums a large file (from 32 MiB on); md5, sha1 and sha256 of
// many streams at once beside OpenSSL's of one; and each lane kernel alone, from which the table in lane_kernels.cpp
// was made.
#include <benchmark/benchmark.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "blake3/blake3_hasher.hpp"
#include "lanes/block_hash.hpp"
#include "lanes/lane_kernels.hpp"
#include "weir/checksum/workers.hpp"
#include "weir/digest/many_sums.hpp"
#include "weir/digest/split_sum.hpp"

namespace {

using namespace weir;
using namespace weir::digest;

constexpr std::array block_hashes{Algorithm::md5, Algorithm::sha1, Algorithm::sha256};
constexpr std::size_t stream_size = 32 << 10;

std::vector<std::byte> noise(std::size_t size) {
    std::vector<std::byte> data(size);
    std::uint32_t state = 1;
    for (auto& byte : data) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
    return data;
}

void bytes_done(benchmark::State& state, std::size_t each) {
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(each));
}

/// So many streams, `apart` bytes from the begin of one to that of the next; the first begins on a page.
struct Streams {
    Streams(std::size_t count, std::size_t apart) : bytes(noise(count * apart + 4096)) {
        const auto skip = 4096 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 4096;
        for (std::size_t i = 0; i < count; ++i) data.push_back(ConstData(bytes).subspan(skip + i * apart, stream_size));
    }
    std::vector<std::byte> bytes;
    std::vector<ConstData> data;
};

void openssl(benchmark::State& state, const EVP_MD* method, std::size_t size) {
    const auto data = noise(size);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    for (auto _ : state) {
        EVP_Digest(data.data(), data.size(), digest.data(), nullptr, method, nullptr);
        benchmark::DoNotOptimize(digest);
    }
    bytes_done(state, size);
}

void many(benchmark::State& state, Algorithm algorithm, std::size_t count, std::size_t apart) {
    const Streams streams(count, apart);
    for (auto _ : state) benchmark::DoNotOptimize(sum_many(algorithm, streams.data));
    bytes_done(state, count * stream_size);
}

/// One call for all lanes; "blocks" are rounds of one block in every lane.
void lanes(benchmark::State& state, Algorithm algorithm, const LaneKernel& kernel) {
    const Streams streams(kernel.lanes, stream_size + 320);
    std::vector<std::uint32_t> words(block_hash(algorithm).words * kernel.lanes);
    std::vector<const std::byte*> at;
    for (const auto& data : streams.data) at.push_back(data.data());
    constexpr std::size_t blocks = stream_size / block_size;
    for (auto _ : state) kernel.run(words.data(), at.data(), blocks);
    benchmark::DoNotOptimize(words);
    bytes_done(state, kernel.lanes * stream_size);
    const auto calls = static_cast<double>(state.iterations()) * blocks;
    state.counters["s/block"] = benchmark::Counter(calls, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void blake3_of(benchmark::State& state, const blake3::Kernel& kernel, std::size_t size) {
    const auto data = noise(size);
    for (auto _ : state) {
        blake3::Hasher hasher(kernel);
        hasher.add(data);
        benchmark::DoNotOptimize(hasher.value());
    }
    bytes_done(state, size);
}

/// A thread that is free takes the next part, and the parts are put together.
void blake3_by_threads(benchmark::State& state, unsigned workers, std::size_t size) {
    const auto data = noise(size);
    const auto part = std::min<std::size_t>(8U << 20, size / 8);  // those of lib/fixity where there is enough
    checksum::Workers pool({.threads = workers});
    for (auto _ : state) {
        SplitSum sum(Algorithm::blake3, size, part);
        std::mutex mutex;
        pool.share(sum.parts(), true, [&](std::size_t i) {
            const auto engine = sum.begin(i);
            engine->add(ConstData(data).subspan(i * part, part));
            const auto value = engine->value();
            const std::scoped_lock lock(mutex);
            sum.add(i, value);
        });
        benchmark::DoNotOptimize(sum.value());
    }
    bytes_done(state, size);
}

template <class... Arguments>
benchmark::internal::Benchmark* add(const std::string& name, Arguments... arguments) {
    return benchmark::RegisterBenchmark(name.c_str(), arguments...);
}

}  // namespace

int main(int argc, char** argv) {
    constexpr std::array<std::size_t, 7> sizes{1 << 10, 4 << 10, 16 << 10, 32 << 10, 256 << 10, 1 << 20, 256 << 20};
    const auto cpu = CpuFeatures::detect();
    for (const auto* kernel : blake3::kernels()) {
        if (!kernel->usable(cpu)) continue;
        for (const auto size : sizes)
            add("blake3/" + std::string(kernel->name) + "/bytes:" + std::to_string(size), blake3_of, *kernel, size);
    }
    for (const std::size_t size : {1U << 20, 4U << 20, 256U << 20})
        for (const unsigned workers : {0U, 1U})
            add("blake3/threads:" + std::to_string(workers + 1) + "/bytes:" + std::to_string(size), blake3_by_threads,
                workers, size)
                ->UseRealTime();

    const auto features = LaneFeatures::detect();
    const std::array methods{EVP_md5(), EVP_sha1(), EVP_sha256()};
    for (std::size_t i = 0; i < block_hashes.size(); ++i) {
        const auto algorithm = block_hashes[i];
        const std::string of(name(algorithm));
        add(of + "/openssl/streams:1", openssl, methods[i], stream_size);
        for (const std::size_t count : {1U, 4U, 8U, 16U, 32U, 64U})
            add(of + "/many/streams:" + std::to_string(count), many, algorithm, count, stream_size + 320);
        add(of + "/many/page-aligned/streams:32", many, algorithm, std::size_t{32}, stream_size);
        for (const auto& kernel : lane_kernels(algorithm))
            if (kernel.usable(features))
                add(of + "/lanes/" + std::string(kernel.name) + "/lanes:" + std::to_string(kernel.lanes), lanes,
                    algorithm, kernel);
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
