// SPDX-License-Identifier: Apache-2.0
// Record plans, every kernel, beside memcpy of the same bytes: Things object-wise, a class of several members, its
// column member-wise, plain integers. GB/s are of the wire.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "weir/serial/record_kernels.hpp"

namespace {

using namespace weir;
using namespace weir::serial;

/// Byte count, version 0 and checksum, as they stand before the members of a class without a version.
constexpr std::array<std::uint8_t, 10> header = {0x40, 0, 0, 10, 0, 0, 0, 0x0d, 0xa4, 0xf8};

struct Member {
    std::size_t place, size;
};

template <std::size_t wire_size>
constexpr std::array<WireByte, wire_size> record(bool with_header, std::initializer_list<Member> members) {
    std::array<WireByte, wire_size> bytes{};
    std::size_t at = 0;
    if (with_header)
        for (const auto value : header) bytes[at++] = constant_byte(value);
    for (const auto& member : members)
        for (auto i = member.size; i-- > 0;) bytes[at++] = object_byte(member.place + i);
    return bytes;
}

constexpr RecordTables<14> thing(record<14>(true, {{0, 4}}), 4);
constexpr RecordTables<38> hit(record<38>(true, {{0, 4}, {8, 8}, {16, 4}, {20, 4}, {24, 8}}), 32);  // a gap at 4
constexpr RecordTables<90> track(
    record<90>(true, {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 8}, {56, 8}, {64, 8}, {72, 8}}), 80);
constexpr RecordTables<4> column_of_8(record<4>(false, {{4, 4}}), 8);
constexpr RecordTables<4> column_of_32(record<4>(false, {{0, 4}}), 32);
constexpr RecordTables<2> shorts(record<2>(false, {{0, 2}}), 2);
constexpr RecordTables<4> ints(record<4>(false, {{0, 4}}), 4);
constexpr RecordTables<8> doubles(record<8>(false, {{0, 8}}), 8);

void measure(const std::string& name, const RecordPlan& plan, const RecordKernel& kernel) {
    const auto prefix = name + "/" + std::string(kernel.name);
    const auto wire_size = static_cast<std::int64_t>(plan.wire_size);
    auto* const write = benchmark::RegisterBenchmark((prefix + "/write").c_str(), [=, &plan](benchmark::State& state) {
        const auto count = static_cast<std::size_t>(state.range(0));
        const std::vector<std::byte> objects(count * plan.object_size, std::byte{1});
        std::vector<std::byte> wire(count * plan.wire_size);
        for (auto _ : state) {
            kernel.write(plan, objects.data(), count, wire.data());
            benchmark::ClobberMemory();
        }
        state.SetBytesProcessed(state.iterations() * state.range(0) * wire_size);
    });
    auto* const read = benchmark::RegisterBenchmark((prefix + "/read").c_str(), [=, &plan](benchmark::State& state) {
        const auto count = static_cast<std::size_t>(state.range(0));
        std::vector<std::byte> objects(count * plan.object_size, std::byte{1});
        std::vector<std::byte> wire(count * plan.wire_size);
        kernel.write(plan, objects.data(), count, wire.data());
        for (auto _ : state) {
            benchmark::DoNotOptimize(kernel.read(plan, wire.data(), count, objects.data()));
            benchmark::ClobberMemory();
        }
        state.SetBytesProcessed(state.iterations() * state.range(0) * wire_size);
    });
    for (auto* bench : {write, read}) bench->Arg(10)->Arg(1000);
}

void copy(benchmark::State& state) {
    const std::vector<std::byte> from(static_cast<std::size_t>(state.range(0)), std::byte{1});
    std::vector<std::byte> to(from.size());
    for (auto _ : state) {
        std::memcpy(to.data(), from.data(), from.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

}  // namespace

int main(int argc, char** argv) {
    auto* const limit = benchmark::RegisterBenchmark("memcpy", copy);
    for (const std::int64_t size : {20, 40, 80, 140, 380, 2000, 4000, 8000, 14000, 38000}) limit->Arg(size);
    const RecordKernel in_use{"in-use", nullptr, write_records, read_records};
    const auto features = CpuFeatures::detect();
    std::vector<RecordKernel> kernels;
    for (const auto& kernel : record_kernels())
        if (kernel.usable(features)) kernels.push_back(kernel);
    kernels.push_back(in_use);
    for (const auto& kernel : kernels) {
        measure("thing", thing, kernel);
        measure("hit", hit, kernel);
        measure("track", track, kernel);
        measure("column-of-8", column_of_8, kernel);
        measure("column-of-32", column_of_32, kernel);
        measure("int16", shorts, kernel);
        measure("int32", ints, kernel);
        measure("int64", doubles, kernel);
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
