// SPDX-License-Identifier: Apache-2.0
// The known-answer tests over given lists; self_test() does them with ours. A test hands in a list with a wrong
// kernel, to see that it is found.
#pragma once

#include <span>

#include "blake3/blake3_kernels.hpp"
#include "lanes/lane_kernels.hpp"
#include "weir/base/result.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {

/// Of md5, sha1 or sha256, in every lane. Errc::corrupt: names the first kernel that is wrong.
[[nodiscard]] Result<> test_lanes(Algorithm algorithm, std::span<const LaneKernel> kernels,
                                  const LaneFeatures& features);
/// The same for blake3. The first of the list is held against known answers only, the others also against it.
[[nodiscard]] Result<> test_blake3(std::span<const blake3::Kernel* const> kernels, const CpuFeatures& features);

/// An engine that chooses its kernel itself, as libraries do, against the portable code. `engine` is new.
[[nodiscard]] Result<> test_engine(Algorithm algorithm, Engine& engine);

}  // namespace weir::digest
