// SPDX-License-Identifier: Apache-2.0
// Who can compute what: our implementations and those of the libraries that are installed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/digest/algorithm.hpp"

namespace weir::app {

struct SumCandidate {
    digest::Algorithm algorithm;
    std::string implementation;  // "weir", "zlib", "isa-l", ...
    bool peer;
    /// Sums the data and returns something that depends on the sum.
    std::function<std::uint64_t(ConstData)> run;
    /// It should be `run` of ours, too; not every peer's result has the same form (false: not compared).
    bool comparable = true;
};

/// Of every algorithm ours first, then the peers that are installed.
[[nodiscard]] std::vector<SumCandidate> sum_candidates();

}  // namespace weir::app
