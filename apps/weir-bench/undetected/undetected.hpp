// SPDX-License-Identifier: Apache-2.0
// `weir bench undetected`: how often damage of a known kind leaves a sum as it was. adler32 is measured, CRCs
// and hashes beside it; the fraction stands with its 95 % bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir::app {

struct UndetectedBenchOptions {
    std::uint64_t trials = 100'000;  // of each kind of damage on short data; fewer on long data
    std::uint64_t seed = 1;
    std::string plot;  // an SVG or PNG file; empty: none
    bool json = false;
};

/// The exit code.
[[nodiscard]] int run_bench_undetected(const UndetectedBenchOptions& options);

}  // namespace weir::app
