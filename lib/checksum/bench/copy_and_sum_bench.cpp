// SPDX-License-Identifier: Apache-2.0
// An event is moved to its place in a large segment and summed: in one loop with either kind of store, the
// copy alone, and the two passes that it replaces (memcpy, then zlib or our kernel).
#include <benchmark/benchmark.h>
#include <zlib.h>

#include <cstring>
#include <vector>

#include "weir/checksum/adler32.hpp"
#include "weir/checksum/copy_and_sum.hpp"

namespace {

using namespace weir;
using namespace weir::checksum;

constexpr std::size_t segment_size = std::size_t{128} << 20;

/// Events of one size go one behind the other into a segment that no cache holds. The event is in the
/// cache when it is small: the thread that received it has just written it.
template <class Copy>
void copy_events(benchmark::State& state, Copy copy) {
    static std::vector<std::byte> segment(segment_size);
    const auto size = static_cast<std::size_t>(state.range(0));
    const std::vector<std::byte> event(size, std::byte{0x5c});
    std::uint32_t value = 1;
    std::size_t place = 0;
    for (auto _ : state) {
        if (segment.size() - place < size) place = 0;
        value = copy(MutableData(segment).subspan(place, size), ConstData(event), value);
        place += size;
    }
    benchmark::DoNotOptimize(value);
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

template <class Copy>
void register_sizes(const char* name, Copy copy) {
    benchmark::RegisterBenchmark(name, copy_events<Copy>, copy)->Arg(65537)->Arg(1 << 20)->Arg(64 << 20);
}

}  // namespace

int main(int argc, char** argv) {
    register_sizes("copy/only/non-temporal", [](MutableData to, ConstData from, std::uint32_t value) {
        return copy_only(to, from, Stores::non_temporal), value;
    });
    register_sizes("copy/adler32/non-temporal", [](MutableData to, ConstData from, std::uint32_t value) {
        return copy_adler32(to, from, value, Stores::non_temporal);
    });
    register_sizes("copy/crc32c/non-temporal", [](MutableData to, ConstData from, std::uint32_t value) {
        return copy_crc32c(to, from, value, Stores::non_temporal);
    });
    register_sizes("copy/adler32/ordinary", [](MutableData to, ConstData from, std::uint32_t value) {
        return copy_adler32(to, from, value, Stores::ordinary);
    });
    register_sizes("copy/peer-memcpy", [](MutableData to, ConstData from, std::uint32_t value) {
        return std::memcpy(to.data(), from.data(), from.size()), value;
    });
    register_sizes("copy/memcpy-then-adler32", [](MutableData to, ConstData from, std::uint32_t value) {
        std::memcpy(to.data(), from.data(), from.size());
        return adler32(from, value);
    });
    register_sizes("copy/peer-memcpy-then-zlib", [](MutableData to, ConstData from, std::uint32_t value) {
        std::memcpy(to.data(), from.data(), from.size());
        return static_cast<std::uint32_t>(::adler32_z(value, reinterpret_cast<const Bytef*>(from.data()), from.size()));
    });
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
