// SPDX-License-Identifier: Apache-2.0
// The lists, and the choice.
#include "lanes/lane_kernels.hpp"

#include <algorithm>
#include <chrono>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "lanes/block_hash.hpp"
#include "lanes/kernels/lane_implementations.hpp"
#include "weir/base/assert.hpp"

namespace weir::digest {
namespace {

constexpr bool always(const LaneFeatures&) noexcept { return true; }
#if defined(__x86_64__)
constexpr bool has_avx2(const LaneFeatures& has) noexcept { return has.cpu.avx2; }
constexpr bool has_avx512(const LaneFeatures& has) noexcept { return has.cpu.avx512; }
constexpr bool has_sha(const LaneFeatures& has) noexcept { return has.sha && has.cpu.sse42; }
#endif

constexpr LaneKernel md5_list[] = {
    {"openssl", always, 1, md5_openssl},
    {"portable", always, 12, md5_portable},
#if defined(__x86_64__)
    {"avx2", has_avx2, 8, md5_avx2_8},
    {"avx2 x2", has_avx2, 16, md5_avx2_16},
    {"avx2 x3", has_avx2, 24, md5_avx2_24},
    {"avx512", has_avx512, 16, md5_avx512_16},
    {"avx512 x2", has_avx512, 32, md5_avx512_32},
#endif
};

constexpr LaneKernel sha1_list[] = {
    {"openssl", always, 1, sha1_openssl}, {"portable", always, 4, sha1_portable},
#if defined(__x86_64__)
    {"avx2", has_avx2, 8, sha1_avx2},     {"sha x2", has_sha, 2, sha1_sha_2},
    {"sha x4", has_sha, 4, sha1_sha_4},   {"avx512", has_avx512, 16, sha1_avx512},
#endif
};

constexpr LaneKernel sha256_list[] = {
    {"openssl", always, 1, sha256_openssl}, {"portable", always, 4, sha256_portable},
#if defined(__x86_64__)
    {"avx2", has_avx2, 8, sha256_avx2},     {"sha x2", has_sha, 2, sha256_sha_2},
    {"sha x3", has_sha, 3, sha256_sha_3},   {"avx512", has_avx512, 16, sha256_avx512},
#endif
};

/// Nanoseconds for a block of each lane: the shortest of a few tries, because other load on the core makes them longer.
double measured(const LaneKernel& kernel, std::size_t words) {
    using SteadyClock = std::chrono::steady_clock;
    constexpr std::size_t blocks = 16;
    constexpr int tries = 7;
    const std::vector<std::byte> data(64 * blocks);
    const std::vector<const std::byte*> lanes(kernel.lanes, data.data());
    std::vector<std::uint32_t> state(words * kernel.lanes);
    auto shortest = SteadyClock::duration::max();
    for (int i = 0; i < tries; ++i) {
        const auto begin = SteadyClock::now();
        kernel.run(state.data(), lanes.data(), blocks);
        shortest = std::min(shortest, SteadyClock::now() - begin);
    }
    const std::chrono::duration<double, std::nano> all = std::max(shortest, SteadyClock::duration(1));
    return all.count() / static_cast<double>(blocks);
}

std::vector<double> measured(Algorithm algorithm) {
    const auto features = LaneFeatures::detect();
    const auto words = block_hash(algorithm).words;
    std::vector<double> costs;
    for (const auto& kernel : lane_kernels(algorithm))
        costs.push_back(kernel.usable(features) ? measured(kernel, words) : 0);
    return costs;
}

}  // namespace

LaneFeatures LaneFeatures::detect() {
    LaneFeatures features{.cpu = CpuFeatures::detect()};
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    features.sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
#endif
    return features;
}

std::span<const LaneKernel> lane_kernels(Algorithm algorithm) noexcept {
    switch (algorithm) {
        case Algorithm::md5: return md5_list;
        case Algorithm::sha1: return sha1_list;
        case Algorithm::sha224:
        case Algorithm::sha256: return sha256_list;
        default: break;
    }
    WEIR_ASSERT(false);
    return {};
}

std::span<const double> lane_costs(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::md5: {
            static const auto costs = measured(algorithm);
            return costs;
        }
        case Algorithm::sha1: {
            static const auto costs = measured(algorithm);
            return costs;
        }
        default: {
            static const auto costs = measured(algorithm);
            return costs;
        }
    }
}

const LaneKernel& best_lanes(std::span<const LaneKernel> kernels, std::span<const double> costs,
                             std::size_t streams) noexcept {
    const LaneKernel* chosen = &kernels.front();
    double best_rate = 0;  // of all streams together; beyond the lanes they take turns
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        if (costs[i] == 0) continue;
        const auto rate = static_cast<double>(std::min(streams, kernels[i].lanes)) / costs[i];
        if (rate > best_rate) {
            chosen = &kernels[i];
            best_rate = rate;
        }
    }
    return *chosen;
}

}  // namespace weir::digest
