// SPDX-License-Identifier: Apache-2.0
// The one list of implementations of md5, sha1 and sha256 that take blocks of several streams at once.
// The choice of one, the tests and the benchmarks walk it. The first one, OpenSSL's, takes a single
// stream and defines what is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weir/base/cpu.hpp"
#include "weir/digest/algorithm.hpp"

namespace weir::digest {

/// The features that the kernels require.
struct LaneFeatures {
    CpuFeatures cpu;
    bool sha = false;  // the SHA instructions of x86

    [[nodiscard]] static LaneFeatures detect();
};

/// Takes `blocks` blocks of 64 bytes from each of the streams; data[i] is that of lane i. Word w of lane i's
/// state is state[w * lanes + i].
using LaneFunction = void(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept;

struct LaneKernel {
    std::string_view name;
    bool (*usable)(const LaneFeatures&) noexcept;
    std::size_t lanes;
    LaneFunction* run;
};

inline constexpr std::size_t lanes_max = 32;

/// Of md5, sha1 or sha256; sha224 has those of sha256.
[[nodiscard]] std::span<const LaneKernel> lane_kernels(Algorithm algorithm) noexcept;

/// The time that each kernel of the list takes for a block of each of its lanes, whether all have a stream or not:
/// nanoseconds, 0 of one that this processor cannot run. Measured at the first call, in less than a millisecond,
/// because processors differ too much to be predicted: sha256 in 16 lanes of AVX-512 takes half of what the SHA
/// instructions take on Emerald Rapids, but no less on Zen.
[[nodiscard]] std::span<const double> lane_costs(Algorithm algorithm);

/// The one that takes the blocks of this many streams in the shortest time.
[[nodiscard]] const LaneKernel& best_lanes(std::span<const LaneKernel> kernels, std::span<const double> costs,
                                           std::size_t streams) noexcept;

}  // namespace weir::digest
