// SPDX-License-Identifier: Apache-2.0
#include "figures/memory_limits.hpp"

#include <sys/mman.h>

#include <array>
#include <cstring>

#include "weir/base/assert.hpp"
#include "weir/base/cpu.hpp"

namespace weir::app {
namespace {

/// Eight vectors at a time, added up: one load and one addition each.
template <class Vector>
[[gnu::always_inline]] inline std::uint64_t add_up(ConstData data) noexcept {
    std::array<Vector, 8> sums{};
    std::size_t at = 0;
    for (; at + sizeof sums <= data.size(); at += sizeof sums) {
        for (std::size_t i = 0; i < sums.size(); ++i) {
            Vector loaded;
            std::memcpy(&loaded, data.data() + at + i * sizeof loaded, sizeof loaded);
            sums[i] += loaded;
        }
    }
    std::uint64_t sum = 0;
    for (; at < data.size(); ++at) sum += std::to_integer<std::uint64_t>(data[at]);
    for (const auto& vector : sums)
        sum += static_cast<std::uint64_t>(vector[0]) + static_cast<std::uint64_t>(vector[1]);
    return sum;
}

using Words16 [[gnu::vector_size(16)]] = std::uint64_t;
std::uint64_t read_16(ConstData data) noexcept { return add_up<Words16>(data); }
#if defined(__x86_64__)
using Words32 [[gnu::vector_size(32)]] = std::uint64_t;
using Words64 [[gnu::vector_size(64)]] = std::uint64_t;
[[gnu::target("avx2")]] std::uint64_t read_32(ConstData data) noexcept { return add_up<Words32>(data); }
[[gnu::target("avx512f")]] std::uint64_t read_64(ConstData data) noexcept { return add_up<Words64>(data); }
#endif

using Read = std::uint64_t(ConstData) noexcept;

Read* widest() {
#if defined(__x86_64__)
    const auto has = CpuFeatures::detect();
    if (has.avx512) return read_64;
    if (has.avx2) return read_32;
#endif
    return read_16;
}

}  // namespace

std::uint64_t read_all(ConstData data) noexcept {
    static Read* const run = widest();
    return run(data);
}

NoisyMemory::NoisyMemory(std::size_t size) : size_(size) {
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    WEIR_ASSERT(memory != MAP_FAILED);
    ::madvise(memory, size, MADV_HUGEPAGE);  // a hint
    memory_ = static_cast<std::byte*>(memory);
    std::uint64_t state = 0x9e3779b97f4a7c15;
    for (std::size_t at = 0; at + 8 <= size; at += 8) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        std::memcpy(memory_ + at, &state, 8);
    }
}

NoisyMemory::~NoisyMemory() { ::munmap(memory_, size_); }

}  // namespace weir::app
